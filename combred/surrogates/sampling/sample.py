"""Labelled states: states of a flow, or of premixed ignitions and flames, each with a time step dt
and the state dt later.

Takes a `Mechanism` and `SamplingSettings`; gives a finished state file (`dataset.schema`).
Each trajectory of the plan (`sampling.plan`) is one task with its own random stream, in one
of several worker processes: a block of a flow (`combred.experiments.flow`), or a premixed
ignition or flame (`sampling.premixed.states`). Finished tasks are not computed again where
an interrupted run goes on. Labels are those of the generated solver; some of the finished file are
compared with CVODE.
"""

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from combred.chemistry.agreement import CHECKED, difference_from_cvode, require_small
from combred.chemistry.fuel import resolve_fuel
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import REFERENCE, IntegrationError
from combred.chemistry.transport import has_transport
from combred.config.data import SamplingSettings
from combred.experiments.flow import FlowBlock, FlowStates
from combred.experiments.labelled import Block
from combred.files.hdf5 import require_space
from combred.files.parts import Parts, forget_parts
from combred.native.solver.library import PRECISE, Solver
from combred.processes.workers import Processes
from combred.surrogates.dataset.schema import FLOW, SAMPLERS, StateFileError, state_attributes
from combred.surrogates.dataset.table import open_states
from combred.surrogates.dataset.writer import draw, write_states
from combred.surrogates.sampling.plan import Task, Trajectory, plan_trajectories
from combred.surrogates.sampling.premixed.states import PremixedStates


def states_of(
    mechanism: Mechanism, settings: SamplingSettings, seed: int
) -> FlowStates | PremixedStates:
    """What turns a task of the plan into a `Block` of labelled states, always `rows` of the task,
    which depend on it and on the settings alone; each worker process has one.

    settings: `fuel` and `oxidizer` as compositions in moles; seed: of all random streams.
    """
    solver = Solver(mechanism)
    if settings.sampler == "flow":
        return FlowStates(mechanism, settings, solver, seed)
    return PremixedStates(mechanism, settings, solver, seed)


def _attempt(states: FlowStates | PremixedStates, task: Any) -> tuple[Block | None, str]:
    """The block of a task, or None and the reason."""
    error = ""
    for _ in range(2):  # after a failure the reactor is a new one: the same states are tried again
        try:
            block = states.block(task)
            block.source[:] = task.index
            block.sampler += FLOW if task.kind == FlowBlock.kind else 0
            return block, ""
        except IntegrationError as failure:
            error = str(failure)
    return None, error


def provenance(settings: SamplingSettings, seed: int) -> dict:
    """All settings, besides the mechanism, that the rows of a state file depend on."""
    return {**REFERENCE._asdict(), "tolerance": PRECISE, "seed": seed, "sampling": asdict(settings)}


def sample(
    path: Path, mechanism: Mechanism, settings: SamplingSettings, seed: int, processes: Processes
) -> dict:
    """Write the state file `path`, resuming an interrupted run; progress is told in rows.

    Returns the trajectories that could not be computed, as text ("lost_trajectories"), and
    `StateTable.numbers`. Raises ValueError where the fuel is unknown, or where the mechanism has
    rates that the solver does not know; StateFileError where labels differ from CVODE's;
    RuntimeError without a C++ compiler; OSError where the disk is too full.
    """
    settings = replace(settings, fuel=resolve_fuel(mechanism, settings.fuel))
    Solver(mechanism)  # compiled here, before the worker processes ask for it
    plan = plan_trajectories(settings, seed, has_transport(mechanism))
    attributes = state_attributes(mechanism, provenance(settings, seed))
    total = sum(t.rows for t in plan)
    blocks_on_disk = Parts(path, attributes | {"plan": [[t.kind, t.rows] for t in plan]})
    missing = [t for t in plan if blocks_on_disk.read(t.index) is None]
    finished = total - sum(t.rows for t in missing)
    # The parts and the file exist together for a while.
    require_space(path.parent, 8 * (2 * total - finished) * (6 + 2 * mechanism.n_species))
    processes.on_progress(finished, total)
    lost = []
    start = mechanism, settings, seed
    with processes.completed(states_of, start, _attempt, missing) as results:
        for task, (block, error) in results:
            if block is None:
                lost.append(f"{task.name}: {error}")
                block = _unlabelled(task, mechanism, settings)
            blocks_on_disk.write(task.index, block.columns().values())
            finished += task.rows
            processes.on_progress(finished, total)

    def blocks() -> Iterator[Block]:
        for index in range(len(plan)):
            part = blocks_on_disk.read(index)
            if part is None:
                raise StateFileError(
                    f"{blocks_on_disk.folder / str(index)} was damaged: sample again"
                )
            yield Block(*part)

    def check(file: h5py.File) -> dict:
        return check_labels(mechanism, draw(file, CHECKED, seed), path)

    write_states(path, attributes, blocks(), check)
    forget_parts(path)
    return {"lost_trajectories": lost, **open_states(path, mechanism).numbers()}


def check_labels(mechanism: Mechanism, block: Block, path: Path) -> dict:
    """The attributes `checked_rows` and `largest_difference` of a state file, of some of its rows.
    Raises StateFileError where a label differs too much from that of CVODE."""
    before, labels = (block.T, block.p, block.Y), (block.T_next, block.Y_next)
    differences = difference_from_cvode(mechanism, before, block.dt, labels)
    try:
        largest, rows = require_small(mechanism, differences)
    except ValueError as error:
        pattern = f"{path.stem}.*.partial"
        raise StateFileError(f"{path}: {error}; then remove {pattern} and sample again") from error
    return {"checked_rows": rows, "largest_difference": largest}


def _unlabelled(task: Task, mechanism: Mechanism, settings: SamplingSettings) -> Block:
    """The rows of a task that could not be computed, without labels: the initial state of the
    trajectory, of a flow the first T0, p and phi of the settings."""
    T, p, phi = settings.T0[0], settings.p[0], settings.phi[0]
    if isinstance(task, Trajectory):
        T, p, phi = task.T, task.p, task.phi
    n, Y = task.rows, mechanism.mixture(settings.fuel, settings.oxidizer, phi)
    missing, dt = np.full((n, mechanism.n_species), np.nan), np.full(n, settings.dt[0])
    initial = np.full(n, T), np.full(n, p), np.tile(Y, (n, 1))
    block = Block.without_source(*initial, dt, missing[:, 0], missing)
    block.source[:] = task.index
    block.sampler[:] = FLOW if task.kind == FlowBlock.kind else SAMPLERS.index(task.kind)
    return block
