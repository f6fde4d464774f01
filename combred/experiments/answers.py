"""The answers to an experiment in a file: the reference and those of solvers, each computed once.

Takes an `Experiment`, a file and what its content depends on; gives the answers. A file holds a
group for the reference and one for each solver, and is written after each of them: what is
interrupted goes on from there.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from combred.chemistry.reactor import Advance
from combred.experiments.experiment import Experiment, OnProgress, silent
from combred.experiments.storage import read_runs, write_runs
from combred.processes.workers import Processes


@dataclass
class Answers:
    """The reference ("reference") of an experiment and the answers of solvers to it, by name, in
    the file `path`.

    inputs: all that the cases and the reference depend on; solvers: what tells one solver from
    another, as the digest of a network, by name. What the file holds of other inputs or another
    solver is computed anew. Raises ValueError where the file is damaged.
    """

    path: Path
    experiment: Experiment
    inputs: dict
    solvers: dict[str, str]
    runs: dict[str, list] = field(init=False)

    def __post_init__(self):
        stored, made_with = read_runs(self.path, self.experiment.mechanism, self.experiment.kind)
        same = made_with.get("cases") == self.inputs and "reference" in stored
        known = made_with.get("networks", {}) if same else {}
        kept = [name for name, of in self.solvers.items() if known.get(name) == of]
        names = ("reference", *kept) if same else ()
        self.runs = {name: stored[name] for name in names if name in stored}

    @property
    def missing(self) -> list[str]:
        """What is not there, of the reference, which comes first, and of the solvers."""
        return [name for name in ("reference", *self.solvers) if name not in self.runs]

    def refer(self, processes: Processes) -> list:
        """The reference, from the file if it is there. Raises ValueError as
        `Experiment.reference`."""
        if "reference" not in self.runs:
            self._keep("reference", self.experiment.reference(processes))
        return self.runs["reference"]

    def ask(self, name: str, advance: Advance, on_progress: OnProgress = silent) -> None:
        """Keep the answers of a solver, after those of the reference."""
        runs = self.experiment.follow(advance, self.runs["reference"], on_progress)
        self._keep(name, runs)

    def compare(self, name: str) -> Any:
        """The errors of a solver against the reference."""
        return self.experiment.compare(self.runs[name], self.runs["reference"])

    def _keep(self, name: str, runs: list) -> None:
        self.runs[name] = runs
        known = {name: of for name, of in self.solvers.items() if name in self.runs}
        inputs = {"cases": self.inputs, "networks": known}
        write_runs(self.path, self.runs, self.experiment.mechanism, inputs)
