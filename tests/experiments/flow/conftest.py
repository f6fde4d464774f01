"""Streams of each mechanism, with hydrogen or methane as fuel."""

import pytest

from combred.config.data import SamplingSettings
from combred.experiments.flow.streams import Streams

FUELS = {"drm19.yaml": "CH4:1", "h2o2.yaml": "H2:1"}


@pytest.fixture(scope="session")
def streams_of(solver_of):
    """A function that gives the streams of a mechanism, with changes of their settings."""

    def make(mechanism, seed: int = 0, **changes) -> Streams:
        settings = SamplingSettings(
            **{"fuel": FUELS[mechanism.name], "T0": [900.0, 2300.0], **changes}
        )
        streams = Streams(mechanism, settings, solver_of(mechanism))
        streams.restart(seed)
        return streams

    return make
