"""Ignitions, flames and stirred reactors of a run: the references, computed once, and each network
in the same cases. The references of ignitions are CVODE's, the others are the generated solver's in
doubles, which `validate` compares with CVODE.

Takes cases and surrogates; writes validation.h5, flames.h5, stirred.h5 and the files of a search,
and hands on the results. A file holds a group for the reference and one for each network; what it
was made with stands in it, and a group of the same cases and network is not computed again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from combred.chemistry.reactor import Advance
from combred.native import fastest
from combred.native.solver import Solver
from combred.pipeline.artefacts import Artefact
from combred.pipeline.console import progress
from combred.pipeline.resolved import of_settings
from combred.pipeline.run import Run
from combred.processes.threads import one_thread
from combred.processes.workers import Processes
from combred.simulation.ignition import Rollout
from combred.simulation.premixed.flame import Flame, FlameMarch
from combred.simulation.stirred.reactor import StirredRun
from combred.surrogate.surrogate import Surrogate
from combred.validation.ignition import cases as ignition_cases
from combred.validation.premixed import cases as flame_cases
from combred.validation.stirred import cases as stirred_cases
from combred.validation.storage import read_runs, write_runs


@dataclass(frozen=True)
class Kind:
    """A kind of case: its name, the class of its runs, the reference of the cases, the answer of
    another `Advance` from the same initial states, and the settings of the cases."""

    name: str
    of: type
    reference: Callable[..., list]
    follow: Callable[..., list]
    settings: str


FLAME_MARCH = FlameMarch()


def reference_ignitions(run: Run, cases: list | None, bar: Callable) -> list:
    """CVODE's ignitions."""
    s = run.settings
    processes = Processes(run.workers, bar)
    return ignition_cases.reference(run.mechanism, s.validation, run.mixture, processes, cases)


def follow_ignitions(run: Run, solver: Advance, references: list, bar: Callable) -> list:
    """The ignitions of a surrogate, from the initial states of the references."""
    return ignition_cases.follow(solver, run.settings.validation.dt, references, bar)


def reference_flames(run: Run, cases: list | None, bar: Callable) -> list:
    """The solver's flames."""
    processes = Processes(run.workers, bar)
    return flame_cases.reference(
        run.mechanism, run.settings.validation, run.mixture, processes, cases, FLAME_MARCH
    )


def follow_flames(run: Run, solver: Advance, references: list, bar: Callable) -> list:
    """The flames of a surrogate, from the profiles of the references."""
    return flame_cases.follow(
        run.mechanism, solver, run.settings.validation.dt, references, FLAME_MARCH, bar
    )


def reference_stirred(run: Run, cases: list | None, bar: Callable) -> list:
    """The solver's stirred reactors."""
    todo = stirred_cases.cases(run.settings.validation.p) if cases is None else cases
    return stirred_cases.reference(run.mechanism, run.mixture, todo, bar)


def follow_stirred(run: Run, solver: Advance, references: list, bar: Callable) -> list:
    """The stirred reactors of a surrogate, in the cases of the references."""
    todo = [reference.case for reference in references]
    return stirred_cases.follow(run.mechanism, solver, run.mixture, todo, bar)


IGNITIONS = Kind(
    "ignitions", Rollout, reference_ignitions, follow_ignitions,
    "validation.T0, .p, .phi, .dt, .burnt_time",
)  # fmt: skip
FLAMES = Kind(
    "flames", Flame, reference_flames, follow_flames,
    "validation.flame_phi ([]: no flames), .flame_T, .p",
)  # fmt: skip
STIRRED = Kind(
    "stirred reactors", StirredRun, reference_stirred, follow_stirred,
    "validation.p",
)  # fmt: skip


def stored_answers(
    run: Run, kind: Kind, artefact: Artefact, networks: dict[str, str]
) -> tuple[dict[str, list], dict[str, str]]:
    """The answers to the cases that are in the file: the reference and those of `networks`, by
    name; and the digests of these networks. Both {} if the file is missing, or of other cases."""
    stored, made_with = read_runs(artefact.path, run.mechanism, kind.of)
    if made_with.get("cases") != artefact.inputs or "reference" not in stored:
        return {}, {}
    known = made_with.get("networks", {}).items()
    known = {k: v for k, v in known if networks.get(k) == v and k in stored}
    return {name: stored[name] for name in ("reference", *known)}, known


def holds(run: Run, kind: Kind, artefact: Artefact, networks: dict[str, str]) -> bool:
    """Whether a file has the reference and the answers of all networks; true where none are asked
    for. Raises ValueError if it is damaged."""
    if not artefact.inputs:
        return True
    return stored_answers(run, kind, artefact, networks)[1] == networks


def answers(
    run: Run,
    kind: Kind,
    artefact: Artefact,
    solvers: Mapping[str, Surrogate | Solver],
    networks: dict[str, str],
    cases: list | None = None,
) -> dict[str, list]:
    """The reference ("reference") and the answers of each surrogate, compiled, or other solver, by
    name, to the cases.

    networks: the digest of each surrogate's network, or what else tells one solver from another,
    by name. cases: those of the validation's settings where None.
    """
    path, mechanism = artefact.path, run.mechanism
    inputs: dict = {"cases": artefact.inputs, "networks": {}}
    groups, inputs["networks"] = stored_answers(run, kind, artefact, networks)
    if not groups:
        with progress(f"references of {kind.name}") as bar, of_settings(kind.settings):
            groups["reference"] = kind.reference(run, cases, bar)
        write_runs(path, groups, mechanism, inputs)
    for name, one in solvers.items():
        if name not in groups:
            with progress(f"{kind.name} of {name}") as bar, one_thread():
                solver = one if isinstance(one, Solver) else fastest(one)
                groups[name] = kind.follow(run, solver, groups["reference"], bar)
            inputs["networks"][name] = networks[name]
            write_runs(path, groups, mechanism, inputs)
    return groups
