"""`combred.judge`: any chemistry beside CVODE, on one page.

Takes whatever advances (T, p, Y) by dt, as a network, a solver or a function of somebody; gives the
errors in ignitions and, if asked for, premixed flames, times, and the page judge.html.
"""

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import cantera as ct
import numpy as np

from combred.chemistry.fuel import Mixture, name_mixture
from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.reactor import CVODE
from combred.chemistry.states import Real, Rows, require_columns, states_of
from combred.chemistry.stepper import Advance, advance_each
from combred.config.export import ExportSettings
from combred.config.fields import require
from combred.config.reduction import parse_criteria
from combred.config.validation import ValidationSettings
from combred.experiments.accuracy import ALONE, BEHIND, NAMES, describe_accuracy, exceeded
from combred.experiments.experiment import Experiment
from combred.experiments.ignition.experiment import Ignitions
from combred.experiments.ignition.rollout import coldest_ignition
from combred.experiments.metrics import worst
from combred.experiments.premixed.experiment import PremixedFlames
from combred.files.records import strict, write_record
from combred.names import needing_train
from combred.native.solver import Solver
from combred.native.solver.library import require_adiabatic
from combred.processes.machine import machine
from combred.processes.threads import one_thread
from combred.processes.workers import Processes

if TYPE_CHECKING:
    from combred.surrogates.model.surrogate import Surrogate

RECORD = "judge.json"
STEPS, APART, CASES = 1600, 150.0, 3  # of ignitions: steps of the slowest; K between them; how many
SOLVER, OTHER = "solver", "chemistry"  # names, beside those of a network
TIMED, REPEATS, SEED = 2048, 3, 0
CVODE_TOLERANCE, CVODE_NAME = (1e-6, 1e-10), "CVODE, rtol 1e-06"


def judge(  # noqa: PLR0913
    advance: Any,
    mechanism: Mechanism | str | None = None,
    folder: Path | str = "judged",
    *,
    fuel: str = "auto",
    oxidizer: str = "auto",
    accept: str = ExportSettings().accept,
    workers: int = 0,
    **cases: Any,
) -> dict:
    """Compare any chemistry with CVODE in ignitions and, if asked for, with the solver in doubles
    in premixed flames; write folder/judge.html and judge.json, and give the numbers of the latter.

    advance: a `Surrogate`, whose network is judged alone and with the solver behind it; or whatever
    has a method advance(T, p, Y, dt) -> (T, Y), as of `combred.chemistry.stepper.Advance`; or such
    a function. mechanism: or its file; by default advance.mechanism. fuel, oxidizer: in moles;
    "auto": the fuel that the mechanism was plainly made for, and air. accept: the largest errors
    with which a chemistry is accepted, as export.accept; `combred.export_surrogate` takes them from
    the card. workers: processes, 0 for one a core. cases:
    as the settings `validation`: T0 [K], p [Pa], phi, dt [s], flame_phi (no flames by default),
    flame_T [K], burnt_time [s]. By default those of the settings, inside the training range of a
    surrogate.

    Returns "errors" by name, as validation.json has them, "times" [s] a state by name, "verdict",
    and of a surrogate the "card" for `combred.export_surrogate`. Raises ValueError where a case
    does not ignite with CVODE, and for wrong settings.
    """
    mechanism = _mechanism_of(advance, mechanism)
    require(workers >= 0, f"workers={workers} cannot be negative; 0: one of each core")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    limits = parse_criteria(accept, "accept")
    gas, solver = name_mixture(mechanism, fuel, oxidizer), Solver(mechanism)
    settings = _settings(advance, solver, gas, cases)
    judged = {SOLVER: solver, **_judged(advance)}
    processes = Processes(workers or len(os.sched_getaffinity(0)))
    experiments: dict[str, Experiment] = {"ignition": Ignitions.of(mechanism, gas, settings)}
    if settings.flame_phi:
        experiments["flame"] = PremixedFlames.of(mechanism, gas, settings)
    references = {key: one.reference(processes) for key, one in experiments.items()}
    errors, curves = _compared(judged, experiments, references)
    record = {
        "inputs": asdict(settings) | asdict(gas) | {"mechanism": mechanism.name},
        "sha256": mechanism.sha256,
        "errors": errors,
        "curves": curves,
        "times": _times(mechanism, judged, references["ignition"], settings.dt),
        "solved": _share_left(judged, references["ignition"], errors),
        "machine": machine(),
        "limits": limits,
        "verdict": {name: exceeded(of, limits) for name, of in errors.items()},
    }
    if NAMES[ALONE] in judged:
        record["card"] = _card(advance, record)
    write_record(folder / RECORD, strict(record))
    from combred.report.judged import write_judged  # matplotlib is slow to import

    write_judged(folder)
    return record


def _mechanism_of(advance: Any, mechanism: Mechanism | str | None) -> Mechanism:
    """The mechanism of what is judged, its own or the one that is given. Raises ValueError where
    there is none, or its species are others, and for reactors that are not those of CVODE."""
    mechanism = mechanism or getattr(advance, "mechanism", None)
    require(mechanism is not None, "mechanism: give the file of its mechanism")
    if not isinstance(mechanism, Mechanism):
        mechanism = load_mechanism(str(mechanism))
    require_adiabatic(advance, "CVODE's reactors conserve energy")
    require(
        not getattr(advance, "volume", False) and not getattr(advance, "sources", None),
        "CVODE is at constant pressure, without sources: give combred.solver(FILE) as it is",
    )
    own = getattr(advance, "mechanism", mechanism)
    require(
        own.species_names == mechanism.species_names,
        f"the species of {mechanism.name} are not those of the chemistry, {own.name}: give its own",
    )
    return mechanism


def temperatures(
    mechanism: Mechanism, solver: Solver, gas: Mixture, p: Sequence[float], dt: float
) -> list[float]:
    """`CASES` initial temperatures [K], `APART`, from the lowest at which stoichiometric mixtures
    ignite within `STEPS` steps dt [s] at all pressures p [Pa]."""
    given = mechanism, solver, gas.fuel, gas.oxidizer
    coldest = max(coldest_ignition(*given, one, STEPS * dt) for one in p)
    return [coldest + i * APART for i in range(CASES)]


# -- what is judged, and in what -------------------------------------------------------------------


class _Function:
    """A function (T, p, Y, dt) -> (T, Y) as an `Advance`, which cannot change its arguments."""

    def __init__(self, function: Any):
        self.function = function

    def advance(self, T: Rows, p: Rows, Y: Rows, dt: Real) -> tuple[Rows, Rows]:
        """As the function. Raises ValueError for what is not as many states."""
        found = self.function(T.copy(), np.array(p), Y.copy(), dt)
        pair = isinstance(found, tuple | list) and len(found) == 2
        require(pair, "advance has to return the pair (T, Y)")
        require(np.ndim(found[1]) == 2, f"advance has to return Y of shape {Y.shape}")
        states = states_of(found[0], np.broadcast_to(p, T.shape), found[1])
        require_columns(states.shape, 2 + Y.shape[1])
        return states[:, 0], states[:, 2:]


def _judged(advance: Any) -> dict[str, Advance]:
    """What is judged, by name."""
    if not hasattr(advance, "advance"):
        require(callable(advance), "advance: give a function (T, p, Y, dt) -> (T, Y), or an object "
                "with such a method `advance`")  # fmt: skip
        return {OTHER: _Function(advance)}
    if not _is_surrogate(advance):
        return {OTHER: advance if hasattr(advance, "attempt") else _Function(advance.advance)}
    with needing_train("a network"):
        from combred.surrogates.library.behind import with_solver
        from combred.surrogates.library.choice import fastest
    return {NAMES[ALONE]: fastest(advance, alone=True), NAMES[BEHIND]: with_solver(advance)}


def _is_surrogate(advance: Any) -> bool:
    """Whether it is a network in torch."""
    return hasattr(advance, "in_training_range")


def _settings(
    advance: Any, solver: Solver, gas: Mixture, cases: dict[str, Any]
) -> ValidationSettings:
    """The cases: those that are given; others inside the range of a surrogate's training."""
    arrays = {key: np.asarray(x) for key, x in cases.items() if isinstance(x, tuple | np.ndarray)}
    lists = {key: x.tolist() for key, x in arrays.items()}
    usual: dict[str, Any] = {"p": [ct.one_atm], "flame_phi": []}
    if _is_surrogate(advance):
        from combred.surrogates.files.card import training_range

        low, high = training_range(advance)["p"]
        within = [p for p in ValidationSettings().p if low <= p <= high]
        usual |= {"p": within or [low], "dt": float(np.sqrt(np.prod(advance.dt_range)))}
    try:
        settings = ValidationSettings(**(usual | cases | lists))
    except TypeError as error:
        known = ", ".join(ValidationSettings.__dataclass_fields__)
        raise ValueError(f"{str(error).split('__() ')[-1]}; cases have {known}") from error
    given = solver.mechanism, solver, gas, settings.p, settings.dt
    return settings if settings.T0 else replace(settings, T0=temperatures(*given))


# -- numbers ---------------------------------------------------------------------------------------


def _compared(
    judged: dict[str, Advance], experiments: dict[str, Experiment], references: dict[str, list]
) -> tuple[dict[str, dict], dict[str, dict]]:
    """The errors of all that is judged, by name, and the curves of the last one, by experiment."""
    errors: dict[str, dict] = {name: {} for name in judged}
    curves = {}
    for key, experiment in experiments.items():
        runs = {}
        for name, one in judged.items():
            with one_thread():
                runs[name] = experiment.follow(one, references[key])
            found = experiment.compare(runs[name], references[key])
            errors[name] |= found if key == "ignition" else {key: found}
        curves[key] = _curves(found, references[key], runs)
    return errors, curves


def _curves(errors: dict, references: list, runs: dict[str, list]) -> dict:
    """T of the worst case over t or x, by name; "case" in words, "end" where it is drawn to."""
    rows = errors["cases"]
    ignition = "reference_delay" in rows[0]
    i = worst([row["delay_error" if ignition else "speed_error"] for row in rows])
    every = {"reference": references[i], **{name: of[i] for name, of in runs.items()}}
    found: dict[str, Any] = {"case": rows[i]["case"]}
    end = 2.0 * rows[i]["reference_delay"] if ignition else np.inf
    for name, run in every.items():
        axis = run.t if ignition else run.x - run.front_x
        shown = axis <= end if ignition else slice(None)
        T = np.round(run.T[shown], 3).tolist()
        found[name] = {"t" if ignition else "x": axis[shown].tolist(), "T": T}
    return found


def _times(
    mechanism: Mechanism, judged: dict[str, Any], ignitions: list, dt: float
) -> dict[str, float]:
    """The time of a state [s] on one core by name, over states along the reference ignitions: the
    fastest of `REPEATS`, of Cantera's CVODE over a few of them."""
    paths = [np.column_stack([r.T, np.full_like(r.T, r.case.p), r.Y]) for r in ignitions]
    some = np.random.default_rng(SEED).choice(np.concatenate(paths), TIMED)
    found = {}
    for name, one in {CVODE_NAME: CVODE(mechanism, *CVODE_TOLERANCE), **judged}.items():
        rows = some[: TIMED // 16] if name == CVODE_NAME else some
        seconds = []
        with one_thread():
            for _ in range(1 + REPEATS):  # TorchScript compiles in its first calls
                begun = process_time()
                advance_each(one, rows[:, 0], rows[:, 1], rows[:, 2:], dt)
                seconds.append((process_time() - begun) / len(rows))
        found[name] = min(seconds)
    return found


def _share_left(judged: dict[str, Any], ignitions: list, errors: dict) -> float | None:
    """The share of the states of the ignitions that a network leaves to the solver; None where no
    network is judged."""
    if NAMES[BEHIND] not in judged:
        return None
    from combred.surrogates.timing import share_in_ignitions

    return share_in_ignitions(judged[NAMES[BEHIND]], ignitions, errors[NAMES[BEHIND]])


def _card(surrogate: "Surrogate", record: dict) -> dict:
    """The card of a surrogate, with the errors that were measured."""
    from combred.surrogates.files.card import own_card

    measured = {key: record["errors"][name] for key, name in NAMES.items()}
    given = record["solved"], record["limits"], record["inputs"]
    return strict(own_card(surrogate, describe_accuracy(measured, *given)))
