"""The judge of a gated run: a surrogate's errors in the gate's cases.

Takes a `Run`; CVODE's answers to the cases are computed once, stored in the run's folder gate/ and
read again. Part of the pipeline: `combred.steps.gated` hands it to the search.
"""

from functools import cached_property

from combred import flame, ignition
from combred import gate as physics
from combred.console import progress
from combred.flame import Flame
from combred.ignition import Rollout
from combred.network import Surrogate
from combred.rollouts import read_flames, read_rollouts, write_flames, write_rollouts
from combred.run import Run


class Judge:
    """`judge` of the search, with CVODE's answers: made once, stored in gate/, and read again."""

    def __init__(self, run: Run):
        s = run.settings
        self.run, self.gate = run, physics.Gate.of(s.reduction, s.validation)

    @cached_property
    def references(self) -> physics.References:
        return physics.References(
            self.rollouts() if self.gate.ignitions else [],
            self.flames() if self.gate.flames else [],
        )

    def rollouts(self) -> list[Rollout]:
        """gate/ignitions.h5."""
        path, inputs = self.run.path("gate/ignitions.h5"), self.run.gate_inputs()
        stored, made_with = read_rollouts(path, self.run.mechanism)
        if made_with == inputs:
            return stored["cvode"]
        with progress("the gate's ignitions with CVODE") as bar:
            rollouts = ignition.reference(*self.run.reference_task, bar, self.gate.ignitions)
        write_rollouts(path, {"cvode": rollouts}, self.run.mechanism, inputs)
        return rollouts

    def flames(self) -> list[Flame]:
        """gate/flames.h5."""
        path, inputs = self.run.path("gate/flames.h5"), self.run.gate_inputs()
        stored, made_with = read_flames(path, self.run.mechanism)
        if made_with == inputs:
            return stored["cvode"]
        with progress("the gate's flames with CVODE") as bar:
            flames = flame.reference(*self.run.reference_task, bar, self.gate.flames)
        write_flames(path, {"cvode": flames}, self.run.mechanism, inputs)
        return flames

    def __call__(self, surrogate: Surrogate) -> dict[str, float]:
        return self.run.shared(lambda: self.errors(surrogate))

    def errors(self, surrogate: Surrogate) -> dict[str, float]:
        run = self.run
        return physics.judge(
            run.mechanism,
            surrogate,
            self.gate,
            self.references,
            run.settings.validation,
            progress,
        )
