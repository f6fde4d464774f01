"""The step `sample`: the labelled states, and those with sensitivities.

Takes the settings; writes states.h5, sensitive.h5 and sample.json, and hands on `Data`.
"""

import time
from dataclasses import dataclass

import numpy as np
import torch
from rich.markup import escape

from combred.chemistry.transport import has_transport
from combred.dataset.table import StateTable, open_states
from combred.files.parts import forget_parts
from combred.files.records import write_record
from combred.pipeline import artefacts
from combred.pipeline.console import console, progress
from combred.pipeline.resolved import of_settings
from combred.pipeline.run import Run
from combred.pipeline.start import starting_point
from combred.processes.workers import Processes
from combred.sampling.sample import sample as sample_dataset
from combred.sensitivity.file import make_sensitive, read_sensitive
from combred.sensitivity.rows import SensitiveStates
from combred.surrogate.surrogate import Surrogate

HELD_OUT = 0.05  # share of the trajectories
CALIBRATION = 20_000  # training states that least squares and errors of a reduction use


@dataclass(frozen=True)
class Data:
    """The data of a run: the states, the rows (n,) bool that no training sees, and the states with
    sensitivities, if any are asked for."""

    run: Run
    table: StateTable
    held_out: np.ndarray
    sensitive: SensitiveStates | None

    def calibration_inputs(self, surrogate: Surrogate) -> torch.Tensor:
        """Network inputs (n, n_inputs) of training states, by which a reduction is calibrated."""
        rows = self.table.draw(~self.held_out, CALIBRATION, self.run.settings.seed)
        state, dt = torch.from_numpy(rows.state()), torch.from_numpy(rows.dt)
        return surrogate.transform.inputs(state, dt)


def sample(run: Run) -> Data:
    """Make states.h5 and sensitive.h5, where they are not there yet."""
    make_states(run)
    make_sensitivities(run)
    return load_data(run)


def load_data(run: Run) -> Data:
    """The data of a run. Raises ValueError where they were made with other settings."""
    s, artefact = run.settings, artefacts.states(run)
    table = open_states(artefact.path, run.mechanism)
    artefact.require(table.provenance)
    return Data(run, table, table.held_out(HELD_OUT, s.seed), load_sensitive(run))


def load_sensitive(run: Run) -> SensitiveStates | None:
    """The states with sensitivities, None where none are asked for or there are none yet. Raises
    ValueError where they were made with other settings."""
    artefact = artefacts.sensitive(run)
    if not artefact.inputs or not artefact.path.exists():
        return None
    rows, made_with = read_sensitive(artefact.path)
    artefact.require(made_with)
    return rows


def make_states(run: Run) -> None:
    """states.h5 and sample.json, unless states of these settings are there."""
    s, path, record = run.settings, artefacts.states(run).path, run.path("sample.json")
    if path.exists():
        table = load_data(run).table
        if not record.exists():
            known = {"inputs": artefacts.states(run).inputs, "lost_trajectories": []}
            write_record(record, known | table.numbers())
        forget_parts(path)
        console.print(f"states: {table.rows:,} rows, reused")
        return
    begun = time.monotonic()
    ranges = "sampling.T0, .p, .phi, .dt"
    with progress("labelling states") as bar, of_settings(ranges):
        numbers = sample_dataset(
            path, run.mechanism, s.sampling, s.seed, Processes(run.workers, bar)
        )
    numbers["seconds"] = time.monotonic() - begun
    write_record(record, {"inputs": artefacts.states(run).inputs, **numbers})
    console.print(
        f"states: {numbers['rows']:,} rows; {numbers['failed_rows']} could not be labelled"
    )
    if s.sampling.sampler == "premixed" and not has_transport(run.mechanism):
        console.print(f"  none of flames: {run.mechanism.name} has no transport data")
    checked = f"{numbers['largest_difference']:.1g} of the change ({numbers['checked_rows']} rows)"
    console.print(f"  their labels differ from CVODE's by at most {checked}")
    for lost in numbers["lost_trajectories"][:5]:
        console.print(f"  [yellow]lost:[/] {escape(lost)}")
    if numbers["failed_rows"] > 0.02 * numbers["rows"]:
        console.print(f"  [yellow]more than 2 % failed: see {record}[/]")


def make_sensitivities(run: Run) -> None:
    """sensitive.h5, where sensitivities are asked for and are not there."""
    s, artefact = run.settings, artefacts.sensitive(run)
    nothing_trains = s.stage == 0 and s.start == "shipped" and starting_point(s, run.mechanism)[0]
    if not artefact.inputs or nothing_trains:
        return
    if load_sensitive(run) is not None:
        forget_parts(artefact.path)
        console.print("states with sensitivities, reused")
        return
    numbers_of = "sensitivity.ignitions, .flames, .counterflows, .kernels (0: none), sampling"
    with progress("ignitions and flames with sensitivities") as bar, of_settings(numbers_of):
        made_with = s.sensitivity, s.sampling, s.seed
        numbers = make_sensitive(
            artefact.path, run.mechanism, *made_with, Processes(run.workers, bar)
        )
    made = numbers["trajectories"] - len(numbers["lost"])
    console.print(
        f"states of {made} ignitions and flames with sensitivities: {numbers['rows']:,} rows"
    )
    for reason in numbers["lost"][:5]:
        console.print(f"  [yellow]lost:[/] {escape(reason)}")
