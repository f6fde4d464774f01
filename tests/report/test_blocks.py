"""How numbers are written."""

import numpy as np
import pytest

from combred.report import blocks


@pytest.mark.parametrize(
    ("fraction", "written"),
    [(0.40509, "40.5 %"), (0.0834, "8.34 %"), (0.000612, "0.06 %"), (4e-6, "0.0004 %")]
    + [(0.0, "0.00 %"), (np.nan, "–"), (None, "–"), (np.inf, blocks.NO_IGNITION)],
)
def test_percent(fraction, written):
    assert blocks.percent(fraction).replace(blocks.NBSP, " ") == written


@pytest.mark.parametrize(
    ("value", "written"), [(617.69, "618"), (5.839, "5.84"), (0.28871, "0.289"), (0, "0")]
)
def test_significant(value, written):
    assert blocks.significant(value) == written
