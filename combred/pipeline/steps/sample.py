"""The step `sample`: the labelled states.

Takes the settings; writes states.h5 and sample.json, and hands on `Data`.
"""

import time
from dataclasses import dataclass

import numpy as np
import torch
from rich.markup import escape

from combred.dataset.sampling import sample as sample_dataset
from combred.dataset.state_table import StateTable, open_states
from combred.pipeline import artefacts
from combred.pipeline.console import progress, say
from combred.pipeline.run import Run
from combred.records import write_record
from combred.surrogate.surrogate import Surrogate

CALIBRATION = 20_000  # training states that least squares and errors of a reduction use


@dataclass(frozen=True)
class Data:
    """The data of a run: the states, and the rows (n,) bool that no training sees."""

    run: Run
    table: StateTable
    held_out: np.ndarray

    def calibration_inputs(self, surrogate: Surrogate) -> torch.Tensor:
        """Network inputs (n, n_inputs) of training states, by which a reduction is calibrated."""
        rows = self.table.draw(~self.held_out, CALIBRATION, self.run.settings.seed)
        state, dt = torch.from_numpy(rows.state()), torch.from_numpy(rows.dt)
        return surrogate.transform.inputs(state, dt)


def sample(run: Run) -> Data:
    """Make states.h5, where it is not there yet."""
    make_states(run)
    return load_data(run)


def load_data(run: Run) -> Data:
    """The data of a run. Raises ValueError where they were made with other settings."""
    s, artefact = run.settings, artefacts.states(run)
    table = open_states(artefact.path, run.mechanism)
    artefact.require(table.provenance)
    return Data(run, table, table.held_out(s.sampling.held_out, s.seed))


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
