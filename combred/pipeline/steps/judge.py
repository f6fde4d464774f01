"""The judge of a gated run: a surrogate's errors in the criteria's cases.

Takes a `Run`; CVODE's answers to the cases are computed once, stored in the run's folder search/ and
read again. Part of the pipeline: `combred.pipeline.steps.search` hands it to the search.
"""

from functools import cached_property

from combred.pipeline.console import progress
from combred.pipeline.run import Run
from combred.simulation import flame, ignition
from combred.simulation.flame import Flame
from combred.simulation.ignition import Rollout
from combred.surrogate.surrogate import Surrogate
from combred.validation import acceptance as physics
from combred.validation.storage import read_flames, read_rollouts, write_flames, write_rollouts


class Judge:
    """`judge` of the search, with CVODE's answers: made once, stored in search/, and read again."""

    def __init__(self, run: Run):
        s = run.settings
        self.run, self.criteria = run, physics.AcceptanceCriteria.of(s.reduction, s.validation)

    @cached_property
    def references(self) -> physics.References:
        return physics.References(
            self.rollouts() if self.criteria.ignitions else [],
            self.flames() if self.criteria.flames else [],
        )

    def rollouts(self) -> list[Rollout]:
        """search/ignitions.h5."""
        path, inputs = self.run.path("search/ignitions.h5"), self.run.criteria_inputs()
        stored, made_with = read_rollouts(path, self.run.mechanism)
        if made_with == inputs:
            return stored["cvode"]
        with progress("the criteria's ignitions with CVODE") as bar:
            rollouts = ignition.reference(*self.run.reference_task, bar, self.criteria.ignitions)
        write_rollouts(path, {"cvode": rollouts}, self.run.mechanism, inputs)
        return rollouts

    def flames(self) -> list[Flame]:
        """search/flames.h5."""
        path, inputs = self.run.path("search/flames.h5"), self.run.criteria_inputs()
        stored, made_with = read_flames(path, self.run.mechanism)
        if made_with == inputs:
            return stored["cvode"]
        with progress("the criteria's flames with CVODE") as bar:
            flames = flame.reference(*self.run.reference_task, bar, self.criteria.flames)
        write_flames(path, {"cvode": flames}, self.run.mechanism, inputs)
        return flames

    def __call__(self, surrogate: Surrogate) -> dict[str, float]:
        return self.run.shared(lambda: self.errors(surrogate))

    def errors(self, surrogate: Surrogate) -> dict[str, float]:
        run = self.run
        return physics.judge(
            run.mechanism,
            surrogate,
            self.criteria,
            self.references,
            run.settings.validation,
            progress,
        )
