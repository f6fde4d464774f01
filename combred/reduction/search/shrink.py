"""The search for the smallest network whose errors keep given limits.

Takes a network, its limits and three functions of the caller; the judge is the use that the network
is made for, not a training loss.

    cut(network, share)       a smaller copy with at most `share` of the parameters; raises
                              `Unreachable` where there is none
    train(network, attempt)   retrains in place; may return numbers for the trace (its "seconds"
                              count as the time of the training). attempt: a number, for file names
    judge(network) -> errors  by kind, lower is better; a kind that is missing or NaN has failed

    found = shrink_until(network, {"ignition": 0.01}, cut, train, judge)
    found.network, found.smallest.errors, found.trace, found.reason

Attempt 0 judges the given network. Each further attempt cuts the last network that passed to the
share `FACTOR` of its parameters, retrains it to the end of its schedule and judges it. If it fails,
the search returns to the last network that passed, and the factor becomes its square root, which
removes less. The search ends when the next cut would leave more than the share `MAX_KEEP_RATIO`, or
when the attempts are used up. A size that failed in one large cut may be reached again in smaller
ones, with a retraining after each, and then pass.

With a `memory` (`attempts.AttemptFolder`) the search can be killed at any time: the next step is a
function of the trace alone, and the attempt in flight goes on with its training.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from combred.reduction.network.size import Unreachable, count_parameters
from combred.reduction.search.attempts import (
    Attempt,
    AttemptFolder,
    NotPassed,
    Shrunk,
    format_errors,
    passes,
)

# The networks are nn.Modules of the caller's own class, which its functions may ask for.
Cut = Callable[[Any, float], Any]
Train = Callable[[Any, int], dict | None]
Judge = Callable[[Any], Mapping[str, float]]
FACTOR = 0.5  # share of the parameters that the first cuts leave
MAX_KEEP_RATIO = 0.88  # the largest share that a cut may leave


def shrink_until(  # noqa: PLR0913
    network: nn.Module,
    limits: Mapping[str, float],
    cut: Cut,
    train: Train,
    judge: Judge,
    attempts: int = 12,
    *,
    memory: AttemptFolder | None = None,
    describe: Callable[[Any], dict] = lambda _: {},
    on_attempt: Callable[[Attempt], None] = lambda _: None,
) -> Shrunk:
    """The smallest network found whose errors keep the limits; the given one is not modified.

    limits: the largest error of each kind. cut, train, judge: see the module. attempts: the largest
    number of cuts. memory: where attempts are stored, and from where a search goes on; it may have
    other limits if they judge each stored attempt alike.
    describe(network): numbers for the trace. on_attempt: is given each attempt once it is stored,
    after its cut and after its judgement.

    Raises ValueError without limits or attempts and for a memory of other limits, and `NotPassed`,
    with its errors, where the given network itself does not keep the limits.
    """
    if not limits or attempts < 1:
        raise ValueError(
            f"limits={dict(limits)} and attempts={attempts} ask for nothing: give the largest "
            "error of each kind, and at least one attempt"
        )
    return _Search(network, limits, cut, train, judge, memory, describe, on_attempt).run(attempts)


@dataclass
class _Search:
    """A running search. Between two attempts its state is the trace and the last network that
    passed."""

    first: nn.Module
    limits: Mapping[str, float]
    cut: Cut
    train: Train
    judge: Judge
    memory: AttemptFolder | None
    describe: Callable[[Any], dict]
    on_attempt: Callable[[Attempt], None]

    def __post_init__(self):
        self.trace = self.memory.trace() if self.memory else []
        for attempt in self.trace:
            if attempt.errors is None:
                continue
            passed = passes(attempt.errors, self.limits)
            if attempt.number and passed != attempt.passed:
                raise ValueError(
                    f"attempt {attempt.number} of the memory was judged by other limits, and has "
                    f"{format_errors(attempt.errors, self.limits)}: give those limits again, or "
                    "another folder"
                )
            attempt.passed = passed

    @property
    def smallest(self) -> Attempt:
        """The last attempt that passed: each cuts the one before it."""
        return [attempt for attempt in self.trace if attempt.passed][-1]

    def run(self, attempts: int) -> Shrunk:
        """Go on from the present trace to the end."""
        if not self.trace:
            self.begin()
        if not self.trace[0].passed:
            raise NotPassed(format_errors(self.trace[0].errors, self.limits))
        current = self.network_of(self.smallest)
        reason = ""
        while not reason:
            failures = sum(attempt.passed is False for attempt in self.trace[1:])
            factor, candidate = FACTOR ** (0.5**failures), current
            if self.trace[-1].passed is None:
                candidate = self.network_of(self.trace[-1])
            elif factor > MAX_KEEP_RATIO:
                reason = "max_keep_ratio"
            elif len(self.trace) > attempts:
                reason = "attempts"
            else:
                candidate = self.reduce(current, factor)
            if self.trace[-1].passed is None:
                self.retrain(candidate)
                if self.trace[-1].passed:
                    current = candidate
        return Shrunk(current, self.smallest, self.trace, reason)

    def network_of(self, attempt: Attempt) -> nn.Module:
        """The network of an attempt: the given one, or one that is stored."""
        return self.memory.network(attempt) if self.memory and attempt.number else self.first

    def begin(self) -> None:
        """Attempt 0: judge the given network."""
        started, attempt = time.monotonic(), Attempt(0, 0, 1.0)
        self.measure(attempt, self.first)
        attempt.errors = dict(self.judge(self.first))
        attempt.passed = passes(attempt.errors, self.limits)
        self.commit(attempt, self.first, started)

    def reduce(self, current: nn.Module, factor: float) -> nn.Module:
        """Begin an attempt: cut `current`, and judge the result before it is retrained.

        Returns the smaller network, or `current` where there is none.
        """
        started, parent = time.monotonic(), self.smallest
        attempt, candidate = Attempt(len(self.trace), parent.number, factor), current
        try:
            candidate = self.cut(current, factor)
            self.measure(attempt, candidate)
            if attempt.parameters >= parent.parameters:
                raise Unreachable(f"the cut leaves {attempt.parameters:,} parameters, no fewer")
            attempt.errors_cut = dict(self.judge(candidate))
        except Unreachable as reason:
            attempt.passed, attempt.note = False, str(reason)
        self.commit(attempt, candidate, started)
        return candidate

    def retrain(self, candidate: nn.Module) -> None:
        """Train and judge the attempt in flight."""
        started, attempt = time.monotonic(), self.trace[-1]
        try:
            attempt.training = dict(self.train(candidate, attempt.number) or {})
            # A training that was resumed adds the time before its interruption.
            started = min(started, time.monotonic() - attempt.training.get("seconds", 0.0))
            attempt.errors = dict(self.judge(candidate))
            attempt.passed = passes(attempt.errors, self.limits)
        except FloatingPointError as reason:  # diverged
            attempt.passed, attempt.note = False, str(reason)
        self.commit(attempt, candidate, started)

    def measure(self, attempt: Attempt, network: nn.Module) -> None:
        """Note the size of the network of an attempt."""
        attempt.parameters, attempt.shape = count_parameters(network), dict(self.describe(network))
        attempt.share = attempt.parameters / count_parameters(self.first)

    def commit(self, attempt: Attempt, network: nn.Module, started: float) -> None:
        """Store an attempt, then report it to the caller."""
        attempt.seconds += time.monotonic() - started
        if attempt.number == len(self.trace):
            self.trace.append(attempt)
        if self.memory:
            self.memory.store(attempt, network)
        self.on_attempt(attempt)
