"""What does a flow step cost with each chemistry of methane/air, and how wrong are its ignitions?

    python -m benchmarks.flow_step

The detailed mechanisms GRI-3.0 and DRM19 by the generated solver, GRI-3.0 reduced by `combred
reduce` and, as a published skeleton, DRM19, networks of DRM19, and other solvers of DRM19, each of
which starts anew at every step, as inside a flow. Of each:

    delays        `CASES` ignitions from 0.5 to 40 atm, phi 0.5 to 1.5, 1200 to 2000 K, marched in
                  steps of 1e-6 s: errors of the delay, relative to one integration by CVODE (rtol
                  1e-9) of the mechanism that it stands for (`of`)
    seconds       processor time of a state of a flow, dt = 1e-6 s, one core: the states on which
                  `combred check` measures times; those of DRM19 for all that has its species
    flow step     that time and `TRANSPORT` for each species, the cost of its equation in OpenFOAM

Networks have the solver behind them; `drm19-full` is in torch, alone. Run nothing else on the
machine meanwhile. Writes benchmarks/results/flow_step.json and docs/flow-step.png; prints a table,
then one JSON line.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import cantera as ct
import numpy as np

import combred
from benchmarks.command_line import general_models
from benchmarks.ignitions import Ranges, marched, references
from benchmarks.provenance import CACHE, digest, stamp
from benchmarks.solvers.build import MissingError
from benchmarks.work_precision import solver
from combred.check.conditions import find_conditions
from combred.check.states import draw
from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.stepper import Advance, advance_each
from combred.experiments.ignition.delay import ignition_delay
from combred.experiments.ignition.rollout import Rollout
from combred.files.records import write_json
from combred.native.solver import Solver
from combred.native.solver.library import Integrator
from combred.processes.machine import machine
from combred.processes.threads import one_thread
from combred.report.skeletal import TRANSPORT
from combred.skeletal.reducing import reduce_mechanism

RESULTS = Path(__file__).parent / "results" / "flow_step.json"
FIGURE = Path(__file__).parents[1] / "docs" / "flow-step.png"
GRI, DRM = "gri30.yaml", "drm19.yaml"
METHANE = Mixture("CH4:1", "O2:1, N2:3.76")
DT = 1e-6  # s
SEED, CASES = 77, 40
RANGES = Ranges(T=(1200.0, 2000.0), phi=(0.5, 1.5))
STATES, COPIES, REPEATS = 960, 4, 3
REDUCED = {"1 %": {"error": 0.01}, "24 species, refitted": {"species": 24, "refit": 1.3}}
PEERS = (  # of DRM19: name, rtol
    ("CVODE, exact Jacobian", 1e-6), ("CVODE, exact Jacobian", 1e-4), ("seulex", 1e-4),
    ("Rosenbrock34", 0.01), ("CVODE", 1e-6),
)  # fmt: skip
TOLERANCES = 0.1, 1e-3  # of the solver of DRM19
NETWORK = "drm19-full"  # of Chen & Xu 2024


@dataclass(frozen=True)
class Chemistry:
    """One way to advance the chemistry of methane/air. kind: mechanism, network or peer; of: the
    file of the mechanism that it stands for; mechanism: its own; weights: of a network."""

    name: str
    kind: str
    of: str
    mechanism: Mechanism
    advance: Advance
    tolerance: float
    weights: int = 0


def chemistries() -> Iterator[Chemistry]:
    """All of them, made one after another."""
    gri, drm = load_mechanism(GRI), load_mechanism(DRM)
    yield Chemistry("GRI-3.0", "mechanism", GRI, gri, Solver(gri), 1e-3)
    for name, how in REDUCED.items():
        code = digest(__file__, "skeletal", "experiments", "native")
        folder = CACHE / "-".join(["reduced", code, *map(str, how.values())])
        reduce_mechanism(GRI, fuel=METHANE.fuel, folder=folder, **how)
        (file,) = folder.glob("gri30-*.yaml")
        own = load_mechanism(str(file))
        yield Chemistry(f"GRI-3.0, reduced: {name}", "mechanism", GRI, own, Solver(own), 1e-3)
    yield Chemistry("DRM19 for GRI-3.0", "mechanism", GRI, drm, Solver(drm), 1e-3)
    for tolerance in TOLERANCES:
        one = Solver(drm, tolerance)
        yield Chemistry(f"DRM19, {tolerance:g}", "mechanism", DRM, drm, one, tolerance)
    full = combred.load(NETWORK)
    yield Chemistry(NETWORK, "network", DRM, drm, full, full.TOLERANCE, full.network.n_weights)
    for name in general_models():
        model = combred.load(name)
        one = combred.native.compile(model)
        n = model.network.n_weights
        yield Chemistry(name, "network", DRM, drm, one, one.tolerance, n)
    for name, rtol in PEERS:
        try:
            one = solver(name, drm, rtol)
            yield Chemistry(f"{name}, {rtol:g}", "peer", DRM, drm, one, rtol)
        except MissingError as error:
            print(f"{name}: left out, {error}")


# -- delays ----------------------------------------------------------------------------------------


def delay_errors(of: Chemistry, exact: list[Rollout], delays: list[float]) -> list[float]:
    """The relative errors of its delays; NaN where it does not ignite, or fails."""
    own = [
        replace(r, Y=of.mechanism.mixture(METHANE.fuel, METHANE.oxidizer, [r.case.phi]))
        for r in exact
    ]

    def step(states: np.ndarray, _live: np.ndarray) -> np.ndarray:
        """One dt later, without mass fractions below zero."""
        T, Y = advance_each(of.advance, states[:, 0], states[:, 1], states[:, 2:], DT)
        Y = np.maximum(Y, 0.0)
        return np.column_stack([T, states[:, 1], Y / Y.sum(axis=1, keepdims=True)])

    found = zip(marched(step, own), exact, delays, strict=True)
    return [ignition_delay(of.mechanism, a, r.T[-1]) / delay - 1.0 for a, r, delay in found]


# -- times -----------------------------------------------------------------------------------------


def flow_states(mechanism: Mechanism) -> np.ndarray:
    """`STATES` states [T, p, Y] of flows."""
    chemistry = Solver(mechanism)
    conditions = find_conditions(mechanism, chemistry, METHANE.fuel, METHANE.oxidizer)
    block = draw(mechanism, chemistry, conditions, STATES)
    return np.column_stack([block.T, block.p, block.Y])


def of_species(states: np.ndarray, mechanism: Mechanism, own: Mechanism) -> np.ndarray:
    """States of a mechanism with the species that another has."""
    if own.species_names == mechanism.species_names:
        return states
    Y = np.zeros((len(states), own.n_species))
    for k, name in enumerate(own.species_names):
        Y[:, k] = states[:, 2 + mechanism.index(name)]
    return np.column_stack([states[:, :2], Y / Y.sum(axis=1, keepdims=True)])


def seconds_of(of: Chemistry, states: np.ndarray) -> float:
    """The processor time [s] of a state, the shortest of `REPEATS`."""
    many = np.tile(states, (COPIES if isinstance(of.advance, Integrator) else 1, 1))
    found = []
    for _ in range(REPEATS):
        begun = time.process_time()
        advance_each(of.advance, many[:, 0], many[:, 1], many[:, 2:], DT)
        found.append(time.process_time() - begun)
    return min(found) / len(many)


# -- the figure ------------------------------------------------------------------------------------

# Points whose name stands below.
BELOW = "GRI-3.0, reduced: 1 %", "CVODE, exact Jacobian, 0.0001", "CVODE, 1e-06"
ALONE = "alone"  # the kind of `NETWORK` in the figure
STYLES = {
    **{"mechanism": ("o", "tab:red"), "network": ("s", "tab:blue")},
    **{ALONE: ("D", "tab:cyan"), "peer": ("^", "black")},
}
TITLES = {
    "mechanism": "mechanism, by combred's solver",
    "network": "network with the solver behind it",
    ALONE: "network alone",
    "peer": "other solvers of DRM19",
}


def draw_figure(rows: dict[str, dict], path: Path) -> None:
    """Largest error of the delay over the time of a flow step."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.6), layout="constrained")
    axis = figure.subplots()
    kinds = {name: row["kind"] for name, row in rows.items()} | {NETWORK: ALONE}
    for kind, (marker, color) in STYLES.items():
        some = {name: row for name, row in rows.items() if kinds[name] == kind}
        x = [1e6 * row["flow_step"] for row in some.values()]
        y = [100.0 * row["worst"] for row in some.values()]
        axis.loglog(x, y, marker, color=color, ms=6, label=TITLES[kind])
        for name, *place in zip(some, x, y, strict=True):
            put = {"xytext": (6, -9 if name in BELOW else 3), "textcoords": "offset points"}
            axis.annotate(name, place, **put, fontsize=7, color=color)
    axis.set_xlabel("time of a cell and flow step [us]: chemistry, and transport of all species")
    axis.set_ylabel("largest error of the ignition delay [%]")
    axis.margins(x=0.12, y=0.08)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8, loc="upper right")
    figure.savefig(path, dpi=130)


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    ct.suppress_thermo_warnings()
    made, rows, known = stamp(__file__), {}, {}
    for file in (GRI, DRM):
        mechanism = load_mechanism(file)
        exact = references(mechanism, METHANE, DT, SEED, CASES, RANGES)
        delays = [ignition_delay(mechanism, r, r.T[-1]) for r in exact]
        known[file] = mechanism, flow_states(mechanism), exact, delays
    print(f"{'':38}{'rtol':>8}{'mean':>10}{'worst':>9}{'a state':>12}{'flow step':>12}")
    with one_thread():
        for one in chemistries():
            mechanism, states, exact, delays = known[one.of]
            errors = np.abs(delay_errors(one, exact, delays))
            if one.mechanism.species_names == known[DRM][0].species_names:
                mechanism, states, *_ = known[DRM]
            seconds = seconds_of(one, of_species(states, mechanism, one.mechanism))
            rows[one.name] = row = {
                "kind": one.kind, "of": one.of, "tolerance": one.tolerance,
                "species": one.mechanism.n_species, "weights": one.weights,
                "mean": float(np.nanmean(errors)), "worst": float(np.nanmax(errors)),
                "cases": CASES, "failed": int(np.isnan(errors).sum()), "seconds": seconds,
                "flow_step": seconds + TRANSPORT * one.mechanism.n_species,
            }  # fmt: skip
            print(
                f"{one.name:38}{one.tolerance:8.0e}{row['mean']:10.3%}{row['worst']:9.3%}"
                f"{1e6 * seconds:9.2f} us{1e6 * row['flow_step']:9.2f} us  {row['failed'] or ''}",
                flush=True,
            )
    result = {"machine": machine(), "cores": 1, "transport": TRANSPORT, "rows": rows} | made
    write_json(RESULTS, result)
    draw_figure(rows, FIGURE)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
