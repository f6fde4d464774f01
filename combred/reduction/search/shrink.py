"""Reduction gated by physics: cut, retrain, judge, go back where it failed, keep the smallest.

Takes a network, the errors that it may have, and three functions of the caller, so that one search
serves flames and anything else; gives the smallest network found that keeps the limits, and the
whole trace. No number of the training is asked: the judge is the use that the network is made for.

    cut(network, share)       a smaller network that keeps at most `share` of the parameters of this
                              one, which stays as it is; raises `Unreachable` where there is none
    train(network, attempt)   retrains in place; may return numbers for the trace ("seconds" is
                              taken for its time). attempt, its number, names files of its own
    judge(network) -> errors  by kind, lower is better; a kind left out, or NaN, has failed

    found = shrink_until(network, {"ignition": 0.01}, cut, train, judge)
    found.network, found.smallest.errors, found.trace, found.reason

The search. Attempt 0 judges the network as it is. Each further one cuts the last network that
passed to the share `factor` of its parameters, retrains and judges. It passed: the next one cuts it
by the same factor. It failed: back to the last that passed, and a gentler factor, its square root.
The end: the next cut would leave more than `max_keep_ratio`, or `attempts` are used up. A size that
failed in one leap may be reached again in smaller ones: every step that passes has been retrained,
and may pass where the leap failed.

It is not the loop of Chen & Xu 2024 (`automatic`), which condenses one layer at a time by a cosine
threshold and trains in chunks until a criterion is met: here one number is looked for, the share of
all parameters that stays, any method cuts, and every attempt is trained to the end of its schedule,
since errors of rollouts fall until the last step of a decaying rate.

With a `memory` (`attempts.AttemptFolder`) the search can be killed anywhere: what comes next is a
function of the trace alone, and the attempt in flight goes on with its training.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import nn

from combred.config.fields import require
from combred.reduction.search.attempts import (
    Attempt,
    Memory,
    NoMemory,
    NotPassed,
    Shrunk,
    format_errors,
    passes,
)
from combred.reduction.size import Unreachable, count_parameters

Cut = Callable[[nn.Module, float], nn.Module]
Train = Callable[[nn.Module, int], dict | None]
Judge = Callable[[nn.Module], Mapping[str, float]]


@dataclass(frozen=True)
class ShrinkSettings:
    """How boldly and how long. factor: share of the parameters that the first cuts leave; max_keep_ratio:
    the largest share that a cut is tried with; attempts: cuts to be judged, at most."""

    factor: float = 0.5
    max_keep_ratio: float = 0.88
    attempts: int = 12

    def __post_init__(self):
        require(
            0 < self.factor <= self.max_keep_ratio < 1,
            f"factor={self.factor} and max_keep_ratio={self.max_keep_ratio} are shares of the parameters that "
            "a cut leaves: 0 < factor <= max_keep_ratio < 1",
        )
        require(self.attempts > 0, f"attempts={self.attempts} must be at least 1")


def smallest_passed(trace: list[Attempt]) -> Attempt:
    """The last attempt that passed: each is smaller than the one before."""
    return [attempt for attempt in trace if attempt.passed][-1]


def next_factor(trace: list[Attempt], settings: ShrinkSettings) -> float:
    """The factor of the next cut: every failure so far has made it gentler, its square root."""
    failures = sum(attempt.passed is False for attempt in trace[1:])
    return settings.factor ** (0.5**failures)


def ending(trace: list[Attempt], settings: ShrinkSettings) -> str:
    """Why a search whose attempts are all judged is over, "" if it is not."""
    if next_factor(trace, settings) > settings.max_keep_ratio:
        return "max_keep_ratio"
    return "attempts" if len(trace) > settings.attempts else ""


def shrink_until(
    network: nn.Module,
    limits: Mapping[str, float],
    cut: Cut,
    train: Train,
    judge: Judge,
    settings: ShrinkSettings | None = None,
    *,
    memory: Memory | None = None,
    size: Callable[[nn.Module], int] = count_parameters,
    describe: Callable[[nn.Module], dict] = lambda _: {},
    on_attempt: Callable[[Attempt], None] = lambda _: None,
) -> Shrunk:
    """The smallest network found whose errors keep the limits.

    network: any; it is not modified. limits: the largest error of each kind. cut, train, judge: see
    the module. memory: where attempts are kept, and taken up again. size: what is made small.
    describe: numbers of a network for the trace. on_attempt: told each attempt, once after its cut
    and once after its judgement, when it is stored.

    Raises ValueError where no limit is given, and `NotPassed`, telling its errors, where the
    network itself does not pass.
    """
    require(bool(limits), "limits={} ask for nothing: give the largest error of each kind")
    memory = NoMemory() if memory is None else memory
    search = _Search(network, limits, cut, train, judge, memory, size, describe, on_attempt)
    return search.run(settings or ShrinkSettings())


@dataclass
class _Search:
    """The search; between two attempts everything is in the trace and the last network passed."""

    first: nn.Module
    limits: Mapping[str, float]
    cut: Cut
    train: Train
    judge: Judge
    memory: Memory
    size: Callable[[nn.Module], int]
    describe: Callable[[nn.Module], dict]
    on_attempt: Callable[[Attempt], None]

    def __post_init__(self):
        self.trace = self.memory.trace()

    def run(self, settings: ShrinkSettings) -> Shrunk:
        if not self.trace:
            self.begin()
        if not self.trace[0].passed:
            raise NotPassed(format_errors(self.trace[0].errors, self.limits))
        flying = self.trace[-1].passed is None
        smallest = smallest_passed(self.trace).number
        current = self.memory.network(smallest) if smallest else self.first
        while flying or not (reason := ending(self.trace, settings)):
            if flying:
                candidate = self.memory.network(self.trace[-1].number)
            else:
                candidate = self.reduce(current, next_factor(self.trace, settings))
            flying = False
            if self.trace[-1].passed is None:
                self.retrain(candidate)
            if self.trace[-1].passed:
                current = candidate
        return Shrunk(current, smallest_passed(self.trace), self.trace, reason)

    def begin(self) -> None:
        """Attempt 0: the network as it was given."""
        begun, attempt = time.monotonic(), Attempt(0, 0, 1.0)
        self.measure(attempt, self.first)
        attempt.errors = dict(self.judge(self.first))
        attempt.passed = passes(attempt.errors, self.limits)
        self.commit(attempt, self.first, begun)

    def reduce(self, current: nn.Module, factor: float) -> nn.Module:
        """The cut of a new attempt, judged as it is; back to `current` where there is none."""
        begun, parent = time.monotonic(), smallest_passed(self.trace)
        attempt, candidate = Attempt(len(self.trace), parent.number, factor), current
        try:
            candidate = self.cut(current, factor)
            self.measure(attempt, candidate)
            if attempt.parameters >= parent.parameters:
                raise Unreachable(f"the cut leaves {attempt.parameters:,} parameters, no fewer")
            attempt.errors_cut = dict(self.judge(candidate))
        except Unreachable as reason:
            attempt.passed, attempt.note = False, str(reason)
        self.commit(attempt, candidate, begun)
        return candidate

    def retrain(self, candidate: nn.Module) -> None:
        """The attempt in flight, trained and judged."""
        begun, attempt = time.monotonic(), self.trace[-1]
        try:
            attempt.training = dict(self.train(candidate, attempt.number) or {})
            # A training that was resumed knows what it took before.
            begun = min(begun, time.monotonic() - attempt.training.get("seconds", 0.0))
            attempt.errors = dict(self.judge(candidate))
            attempt.passed = passes(attempt.errors, self.limits)
        except FloatingPointError as reason:  # diverged
            attempt.passed, attempt.note = False, str(reason)
        self.commit(attempt, candidate, begun)

    def measure(self, attempt: Attempt, network: nn.Module) -> None:
        attempt.parameters, attempt.shape = self.size(network), dict(self.describe(network))
        attempt.share = attempt.parameters / self.size(self.first)

    def commit(self, attempt: Attempt, network: nn.Module, begun: float) -> None:
        """Stored, then told."""
        attempt.seconds += time.monotonic() - begun
        if attempt.number == len(self.trace):
            self.trace.append(attempt)
        self.memory.store(self.trace, network)
        self.on_attempt(attempt)
