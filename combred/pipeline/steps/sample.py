"""The step `sample`: the labelled states, and those with sensitivities.

Takes settings of the sampling; writes states.h5, sensitive.h5 and sample.json, and reads `Data`.
"""

import time
from dataclasses import dataclass

import numpy as np
import torch
from rich.markup import escape

from combred.chemistry.mechanism import Mechanism
from combred.chemistry.stepper import USUAL_P
from combred.chemistry.thermo import Thermo
from combred.chemistry.transport import has_transport
from combred.config.data import SamplingSettings, SensitivitySettings
from combred.config.fields import require
from combred.experiments.labelled import Block
from combred.files.hdf5 import opened
from combred.files.parts import forget_parts
from combred.files.records import write_record
from combred.pipeline.console import console, progress
from combred.pipeline.files import Artefact
from combred.pipeline.resolved import of_run, of_settings
from combred.processes.workers import Processes
from combred.surrogates.dataset.labels import require_labels
from combred.surrogates.dataset.table import StateTable, open_states
from combred.surrogates.model.surrogate import Surrogate
from combred.surrogates.sampling.sample import sample as sample_dataset
from combred.surrogates.sensitivity.file import make_sensitive, read_sensitive
from combred.surrogates.sensitivity.rows import SensitiveStates
from combred.surrogates.training.validation_loss import require_held_out

HELD_OUT = 0.05  # share of the trajectories
# What the pipeline does about a file of states that is missing, damaged or of other settings.
SAMPLED = (
    "`python -m combred.pipeline only=sample` makes a missing one; run=NAME names another run."
)
CONSERVED, OFF_ELEMENTS, OFF_T = 512, 1e-4, 1.0  # rows; changes of mass fractions; K
CALIBRATION = 20_000  # training states that least squares and errors of a reduction use


@dataclass(frozen=True)
class Data:
    """The data of a run: the states, the rows (n,) bool that no training sees, the states with
    sensitivities, if they are there, and the artefact that these are; the seed of all draws."""

    table: StateTable
    held_out: np.ndarray
    sensitive: SensitiveStates | None
    sensitive_file: Artefact
    seed: int

    def calibration_inputs(self, surrogate: Surrogate) -> torch.Tensor:
        """Network inputs (n, n_inputs) of training states, by which a reduction is calibrated."""
        rows = self.table.draw(~self.held_out, CALIBRATION, self.seed)
        state, dt = torch.from_numpy(rows.state()), torch.from_numpy(rows.dt)
        return surrogate.transform.inputs(state, dt)


def read_data(
    states: Artefact, sensitive: Artefact, mechanism: Mechanism, seed: int, dt: float | None
) -> Data:
    """The data in two files; dt [s]: the one time step of the network, None for any. Raises
    ValueError where they were made with other settings, where none can be held out, and for states
    of one's own over another dt, or that do not conserve elements and enthalpy."""
    table = _open(states, mechanism)
    if table.provenance is None:
        _require_usable(table, mechanism, seed, dt)
    rows, held_out = read_sensitive_states(sensitive), table.held_out(HELD_OUT, seed)
    with of_settings("sampling.states; sampling.ignitions of sampling.sampler=premixed"):
        require_held_out(held_out)
    return Data(table, held_out, rows, sensitive, seed)


def _open(states: Artefact, mechanism: Mechanism) -> StateTable:
    with of_run(SAMPLED):
        table = open_states(states.path, mechanism)
    states.require(table.provenance)
    return table


def _require_usable(table: StateTable, mechanism: Mechanism, seed: int, dt: float | None) -> None:
    """ValueError for states of one's own over another time step than dt, and where their elements
    or enthalpy change over it: another order of species, another unit, or another reactor. As
    `require_labels`, too; a pressure that is far outside what is usual is told."""
    with opened(table.path) as file:
        steps, p = np.asarray(file["dt"]), np.asarray(file["p"])
    require(
        dt is None or bool(np.allclose(steps, dt, rtol=1e-6)),
        f"{table.path} has states over dt = {steps.min():g} to {steps.max():g} s, and a network of "
        f"the state alone has one, validation.dt={dt or 0.0:g} s: give states over this dt, or "
        "network.kinetics=true",
    )
    first = int(np.random.default_rng([seed, 9]).integers(max(table.rows - CONSERVED, 0) + 1))
    some = Block.join([table.read(0, CONSERVED), table.read(first, first + CONSERVED)])
    elements = np.abs((some.Y_next - some.Y) @ mechanism.elements.T).max(1)
    thermo = Thermo(mechanism)
    heat = thermo.enthalpy(some.T_next, some.Y_next) - thermo.enthalpy(some.T, some.Y)
    kelvin = np.abs(heat) / thermo.heat_capacity(some.T, some.Y)
    for off, allowed, what in (
        (elements, OFF_ELEMENTS, "elements (mass fractions)"),
        (kelvin, OFF_T, "enthalpy (over the heat capacity, K)"),
    ):
        require(
            float(off.max()) <= allowed,
            f"{table.path}: over dt the {what} of a state change by {off.max():.2g}, and a closed "
            "adiabatic reactor at constant pressure keeps both: look at the order of the species "
            "(that of the mechanism), the units (K, Pa, mass fractions, s) and the reactor",
        )
    require_labels(table, mechanism)
    low, high = USUAL_P
    if p.min() < low or p.max() > high:
        console.print(
            f"  [yellow]p of some states in {escape(str(table.path))} is far from {low:g} to "
            f"{high:g} Pa: is it in Pa, not in atm or bar?[/]"
        )


def read_sensitive_states(artefact: Artefact) -> SensitiveStates | None:
    """The states with sensitivities, None where none are asked for or there are none yet. Raises
    ValueError where they were made with other settings."""
    if not artefact.inputs or not artefact.path.exists():
        return None
    rows, made_with = read_sensitive(artefact.path)
    artefact.require(made_with)
    return rows


def make_states(
    artefact: Artefact, mechanism: Mechanism, sampling: SamplingSettings, seed: int, workers: int
) -> None:
    """states.h5 and sample.json, unless states of these settings are there."""
    path, record = artefact.path, artefact.path.with_name("sample.json")
    if path.exists():
        table = _open(artefact, mechanism)
        if not record.exists():
            known = {"inputs": artefact.inputs, "lost_trajectories": []}
            write_record(record, known | table.numbers())
        forget_parts(path)
        console.print(f"states: {table.rows:,} rows, reused")
        return
    begun = time.monotonic()
    ranges = "sampling.T0, .p, .phi, .dt"
    with progress("labelling states") as bar, of_settings(ranges):
        numbers = sample_dataset(path, mechanism, sampling, seed, Processes(workers, bar))
    numbers["seconds"] = time.monotonic() - begun
    write_record(record, {"inputs": artefact.inputs, **numbers})
    console.print(
        f"states: {numbers['rows']:,} rows; {numbers['failed_rows']} could not be labelled"
    )
    if sampling.sampler == "premixed" and not has_transport(mechanism):
        console.print(f"  none of flames: {mechanism.name} has no transport data")
    checked = f"{numbers['largest_difference']:.1g} of the change ({numbers['checked_rows']} rows)"
    console.print(f"  their labels differ from CVODE's by at most {checked}")
    for lost in numbers["lost_trajectories"][:5]:
        console.print(f"  [yellow]lost:[/] {escape(lost)}")
    if numbers["failed_rows"] > 0.02 * numbers["rows"]:
        console.print(f"  [yellow]more than 2 % failed: see {record}[/]")


def make_sensitivities(
    artefact: Artefact,
    mechanism: Mechanism,
    sensitivity: SensitivitySettings,
    sampling: SamplingSettings,
    seed: int,
    workers: int,
) -> None:
    """sensitive.h5, unless sensitivities of these settings are there."""
    if read_sensitive_states(artefact) is not None:
        forget_parts(artefact.path)
        console.print("states with sensitivities, reused")
        return
    made_with = artefact.path, mechanism, sensitivity, sampling, seed
    numbers_of = "sensitivity.ignitions, .flames, .counterflows, .kernels (0: none), sampling"
    with progress("ignitions and flames with sensitivities") as bar, of_settings(numbers_of):
        numbers = make_sensitive(*made_with, Processes(workers, bar))
    made = numbers["trajectories"] - len(numbers["lost"])
    console.print(
        f"states of {made} ignitions and flames with sensitivities: {numbers['rows']:,} rows"
    )
    for reason in numbers["lost"][:5]:
        console.print(f"  [yellow]lost:[/] {escape(reason)}")
