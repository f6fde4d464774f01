"""Ignitions, flames and stirred reactors of a run: the references, computed once, and each network
in the same cases. The references of ignitions are CVODE's, the others are the generated solver's in
doubles, which `validate` compares with CVODE.

Takes cases and surrogates; writes validation.h5, flames.h5, stirred.h5 and the files of a search,
and hands on the results. A file holds a group for the reference and one for each network; what it
was made with stands in it, and a group of the same cases and network is not computed again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType

from combred.chemistry.stepper import Advance
from combred.experiments.ignition import cases as ignition_cases
from combred.experiments.ignition.rollout import Rollout
from combred.experiments.premixed import cases as flame_cases
from combred.experiments.premixed.flame import Flame
from combred.experiments.stirred import cases as stirred_cases
from combred.experiments.stirred.reactor import StirredRun
from combred.experiments.storage import read_runs, write_runs
from combred.native import fastest
from combred.native.solver import Solver
from combred.pipeline.artefacts import Artefact
from combred.pipeline.console import progress
from combred.pipeline.resolved import of_settings
from combred.pipeline.run import Run
from combred.processes.threads import one_thread
from combred.processes.workers import Processes
from combred.surrogate.surrogate import Surrogate


@dataclass(frozen=True)
class Kind:
    """A kind of case: its name, the class of its runs, the module whose `reference` computes the
    references, how another `Advance` answers from the same initial states, follow(run, solver,
    references, bar), and the settings of the cases."""

    name: str
    of: type
    cases: ModuleType
    follow: Callable[[Run, Advance, list, Callable], list]
    settings: str


IGNITIONS = Kind(
    "ignitions", Rollout, ignition_cases,
    lambda run, solver, references, bar: ignition_cases.follow(
        solver, run.settings.validation.dt, references, bar
    ),
    "validation.T0, .p, .phi, .dt, .burnt_time",
)  # fmt: skip
FLAMES = Kind(
    "flames", Flame, flame_cases,
    lambda run, solver, references, bar: flame_cases.follow(
        run.mechanism, solver, run.settings.validation.dt, references, on_progress=bar
    ),
    "validation.flame_phi ([]: no flames), .flame_T, .p",
)  # fmt: skip
STIRRED = Kind(
    "stirred reactors", StirredRun, stirred_cases,
    lambda run, solver, references, bar: stirred_cases.follow(
        run.mechanism, solver, run.mixture, [reference.case for reference in references], bar
    ),
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
            how = mechanism, run.settings.validation, run.mixture, Processes(run.workers, bar)
            groups["reference"] = kind.cases.reference(*how, cases)
        write_runs(path, groups, mechanism, inputs)
    for name, one in solvers.items():
        if name not in groups:
            with progress(f"{kind.name} of {name}") as bar, one_thread():
                solver = one if isinstance(one, Solver) else fastest(one)
                groups[name] = kind.follow(run, solver, groups["reference"], bar)
            inputs["networks"][name] = networks[name]
            write_runs(path, groups, mechanism, inputs)
    return groups
