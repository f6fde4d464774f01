"""The step `sample`: the labelled states and the trajectory segments.

Takes the settings; writes states.h5, segments.h5 and sample.json, and hands on `Data`.
"""

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from rich.markup import escape

from combred.dataset.sampling import sample as sample_dataset
from combred.dataset.segment_sampling import FlameStates, sample_segments
from combred.dataset.segments import Segments, open_segments
from combred.dataset.states import StateTable, open_states
from combred.pipeline import artefacts
from combred.pipeline.console import progress, say
from combred.pipeline.run import Run
from combred.records import read_record, write_record
from combred.surrogate.surrogate import Surrogate

CALIBRATION = 20_000  # training states that least squares and errors of a reduction use


@dataclass(frozen=True)
class Data:
    """The data of a run: the states; the rows (n,) bool that no training sees; the segments."""

    run: Run
    table: StateTable
    held_out: np.ndarray

    @cached_property
    def segments(self) -> Segments:
        """The trajectory segments, read when a training first asks for them. Raises ValueError
        where the settings make none."""
        if not self.run.settings.segments.steps:
            raise ValueError(
                "segments.steps=0 makes no trajectory segments, which a training with a "
                "rollout_share needs: give segments.steps=8, or training.rollout_share=0"
            )
        return load_segments(self.run)

    def calibration_inputs(self, surrogate: Surrogate) -> torch.Tensor:
        """Network inputs (n, n_inputs) of training states, by which a reduction is calibrated."""
        rows = self.table.draw(~self.held_out, CALIBRATION, self.run.settings.seed)
        state, dt = torch.from_numpy(rows.state()), torch.from_numpy(rows.dt)
        return surrogate.transform.inputs(state, dt)


def sample(run: Run) -> Data:
    """Make states.h5 and segments.h5, where they are not there yet."""
    make_states(run)
    data = load_data(run)
    if run.settings.segments.steps:
        make_segments(run, data)
    return data


def load_data(run: Run) -> Data:
    """The data of a run. Raises ValueError where they were made with other settings."""
    s, artefact = run.settings, artefacts.states(run)
    table = open_states(artefact.path, run.mechanism)
    artefact.require(table.provenance)
    return Data(run, table, table.held_out(s.sampling.held_out, s.seed))


def load_segments(run: Run) -> Segments:
    """The segments of a run. Raises ValueError where they were made with other settings."""
    artefact = artefacts.segments(run)
    segments = open_segments(artefact.path, run.mechanism)
    artefact.require(segments.provenance)
    return segments


def make_states(run: Run) -> None:
    """states.h5 and sample.json, unless states of these settings are there."""
    s, path, record = run.settings, artefacts.states(run).path, run.path("sample.json")
    if path.exists():
        table = load_data(run).table
        if not record.exists():
            known = {"inputs": artefacts.states(run).inputs, "lost_trajectories": []}
            write_record(record, known | table.numbers())
        path.with_suffix(".partial.h5").unlink(missing_ok=True)
        say(run, f"states: {table.rows:,} rows, reused")
        return
    begun = time.monotonic()
    with progress("labelling states") as bar:
        numbers = sample_dataset(
            path, run.mechanism, s.sampling, s.chemistry, s.seed, run.workers, bar
        )
    numbers["seconds"] = time.monotonic() - begun
    write_record(record, {"inputs": artefacts.states(run).inputs, **numbers})
    say(run, f"states: {numbers['rows']:,} rows; {numbers['failed_rows']} could not be labelled")
    for lost in numbers["lost_trajectories"][:5]:
        say(run, f"  [yellow]lost:[/] {escape(lost)}")
    if numbers["failed_rows"] > 0.02 * numbers["rows"]:
        say(run, f"  [yellow]more than 2 % failed: see {record}[/]")


def make_segments(run: Run, data: Data) -> None:
    """segments.h5, unless segments of these settings are there."""
    path, record = artefacts.segments(run).path, run.path("sample.json")
    if path.exists():
        say(run, f"segments: {len(data.segments.states):,}, reused")
        return
    flames = FlameStates.drawn(data.table, data.held_out, run.settings.seed)
    with progress("integrating segments") as bar:
        numbers = sample_segments(path, artefacts.segment_sampler(run), flames, run.workers, bar)
    write_record(record, {**read_record(record), "segments": numbers})
    say(
        run,
        f"segments: {numbers['segments']:,} of {numbers['steps']} steps, {numbers['flames']:,} of "
        f"them from flames; {numbers['failed']} ignitions could not be integrated, "
        f"{numbers['not_ignited']} did not ignite",
    )
