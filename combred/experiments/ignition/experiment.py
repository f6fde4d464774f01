"""Ignitions, compared along the whole way to burnt gas.

Takes cases and an `Advance`; gives a `Rollout` of each case, and errors for validation.json. CVODE
integrates the references.
"""

from dataclasses import dataclass
from itertools import product
from typing import ClassVar, Self

import numpy as np

from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import REFERENCE, IntegrationError, Reactor, Tolerances
from combred.chemistry.stepper import Advance
from combred.config.validation import ValidationSettings
from combred.experiments.experiment import ALONE, Experiment, OnProgress, silent
from combred.experiments.ignition.delay import ignition_delay
from combred.experiments.ignition.rise import LEAST, half_to_equilibrium
from combred.experiments.ignition.rollout import Case, Rollout, integrate, march, mixtures
from combred.experiments.metrics import relative_error, summarize, worst
from combred.processes.workers import Processes

MOST_STEPS = 1_000_000  # of a rollout, whose states are stored: 180 bytes each, 21 species
LONGEST = 0.1  # s, longest ignition delay that is waited for


@dataclass(frozen=True)
class Ignitions(Experiment[Rollout]):
    """Ignitions of the `Case`s in steps dt [s], over 1.3 ignition delays and then burnt_time [s];
    tolerances: of CVODE."""

    dt: float
    burnt_time: float
    tolerances: Tolerances = REFERENCE

    name: ClassVar = "ignitions"
    kind: ClassVar = Rollout
    limits: ClassVar = {
        "ignition": ("delay_error", "worst"),
        "ignition_mean": ("delay_error", "mean"),
    }

    @classmethod
    def of(cls, mechanism: Mechanism, mixture: Mixture, settings: ValidationSettings) -> Self:
        """All combinations of the temperatures, pressures and equivalence ratios of `settings`."""
        cases = [Case(*values) for values in product(settings.T0, settings.p, settings.phi)]
        return cls(mechanism, mixture, cases, settings.dt, settings.burnt_time)

    def reference(self, processes: Processes = ALONE) -> list[Rollout]:
        """CVODE's rollouts, with states in intervals of dt. Raises ValueError where a case does not
        ignite."""
        return processes.results(self._integrate, list(zip(self.cases, self.Y0, strict=True)))

    @property
    def Y0(self) -> np.ndarray:
        """Initial mass fractions (n_cases, n_species)."""
        return mixtures(self.mechanism, self.cases, self.mixture.fuel, self.mixture.oxidizer)

    def _integrate(self, case: Case, Y0: np.ndarray) -> Rollout:
        steps = self.steps_to_equilibrium(case, Y0)
        return integrate(self.mechanism, case, Y0, self.dt, steps, self.tolerances)

    def steps_to_equilibrium(self, case: Case, Y0: np.ndarray) -> int:
        """The number of steps of a rollout; Y0 (n_species,): initial mass fractions. Raises
        ValueError where CVODE fails, where the case does not ignite within `LONGEST`, or where it
        takes more than `MOST_STEPS` steps."""
        reactor = Reactor(self.mechanism, *self.tolerances)
        state = np.array([case.T0]), np.array([case.p]), Y0[None]
        half = half_to_equilibrium(self.mechanism, *state)[0]
        times, T = self._until(reactor, case, Y0, half)
        if T[-1] <= half and T.max() > case.T0 + LEAST and not np.isfinite(half):
            half = 0.5 * (case.T0 + T.max())  # hotter on its path than at equilibrium
        ignited = np.flatnonzero(T > half)
        if not len(ignited):
            raise ValueError(
                f"the case {case} does not ignite within {LONGEST} s: choose a hotter T0"
            )
        steps = int(np.ceil((1.3 * times[ignited[0]] + self.burnt_time) / self.dt))
        if steps > MOST_STEPS:
            raise ValueError(
                f"the case {case} takes {steps:.2g} steps of dt = {self.dt:g} s, and at most "
                f"{MOST_STEPS:,} are stored: give a larger dt, a shorter time of burnt gas or a "
                "hotter T0"
            )
        return steps

    def _until(
        self, reactor: Reactor, case: Case, Y0: np.ndarray, half: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Times [s] and T [K] of CVODE's steps until T exceeds `half` [K], or until `LONGEST`."""
        steps = [(0.0, case.T0)]
        try:
            reactor.start(case.T0, case.p, Y0)
            while steps[-1][0] < LONGEST and not steps[-1][1] > half:
                steps.append(reactor.step())
        except IntegrationError as error:
            raise ValueError(
                f"CVODE cannot integrate the case {case} ({error}): choose another T0, p or phi"
            ) from error
        times, T = np.array(steps).T
        return times, T

    def follow(
        self, advance: Advance, references: list[Rollout], on_progress: OnProgress = silent
    ) -> list[Rollout]:
        """The rollouts of `advance`, as long as the `references`."""
        cases, Y0 = [r.case for r in references], np.array([r.Y[0] for r in references])
        return march(advance, self.dt, cases, Y0, [len(r.t) - 1 for r in references], on_progress)

    def compare(self, found: list[Rollout], references: list[Rollout]) -> dict:
        """The errors of each case ("cases"), and their median, mean and worst
        (`combred.experiments.metrics.summarize`).

        delay_error (`combred.experiments.ignition.delay`): relative; burnt_T_error [K]: of the last
        state.
        """
        both = zip(found, references, strict=True)
        rows = [_case_errors(self.mechanism, rollout, reference) for rollout, reference in both]
        delays = [row["delay_error"] for row in rows]
        return {
            "cases": rows,
            "all_ignite": all(row["ignited"] for row in rows),
            "delay_error": summarize(delays),
            "worst_case": rows[worst(delays)]["case"],
            "burnt_T_error": summarize([row["burnt_T_error"] for row in rows]),
        }


def _case_errors(mechanism: Mechanism, rollout: Rollout, reference: Rollout) -> dict:
    """The errors of one case."""
    case = reference.case
    burnt_T = float(reference.T.max())
    delay = ignition_delay(mechanism, rollout, burnt_T)
    reference_delay = ignition_delay(mechanism, reference, burnt_T)
    return {
        "case": str(case),
        "T0": case.T0,
        "p": case.p,
        "phi": case.phi,
        "ignited": bool(np.isfinite(delay)),
        "delay": delay,
        "reference_delay": reference_delay,
        "delay_error": relative_error(delay, reference_delay),
        "burnt_T_error": abs(float(rollout.T[-1] - reference.T[-1])),
    }
