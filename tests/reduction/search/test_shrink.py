"""The search for the smallest network that keeps its limits: its steps, its end, and its memory.

The networks are vectors; their errors are given functions of their size.
"""

import functools
import math
from dataclasses import asdict

import pytest
import torch
from killed import Killed
from safetensors.torch import load_file, save_file
from torch import nn

from combred.files import trace
from combred.reduction import AttemptFolder, Unreachable, shrink_until
from combred.reduction.search import shrink
from combred.reduction.search.attempts import NotPassed, format_errors, passes

FULL = 1000


class Vector(nn.Module):
    """A network of `size` parameters; each cut and each training changes their values."""

    def __init__(self, values: torch.Tensor):
        super().__init__()
        self.values = nn.Parameter(values)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.values)


class Task:
    """cut, train and judge of vectors. error(size, trained): the error that the judge gives. least:
    the smallest size that can be cut. kill_at: the call, counted over all three, that is killed."""

    def __init__(self, error, least: int = 1, kill_at: int = 0):
        self.error, self.least, self.kill_at, self.calls = error, least, kill_at, []

    def called(self, name: str) -> None:
        self.calls.append(name)
        if len(self.calls) == self.kill_at:
            raise Killed

    def cut(self, network: Vector, share: float) -> Vector:
        self.called("cut")
        size = math.floor(share * network.size)
        if size < self.least:
            raise Unreachable(f"fewer than {self.least} parameters")
        return Vector(network.values.detach()[:size].floor() + 1.0)

    def train(self, network: Vector, number: int) -> dict:
        with torch.no_grad():
            network.values += 2.0 * number + 0.5  # the half marks a trained network
        self.called("train")  # killed when the network in memory has already been changed
        return {"steps": number}

    def judge(self, network: Vector) -> dict:
        self.called("judge")
        trained = bool(network.values[0] % 1) or network.size == FULL
        return {"flame": self.error(network.size, trained)}

    def search(self, attempts: int = 12, limit: float = 0.01, **how):
        network = Vector(torch.zeros(FULL))
        parts = self.cut, self.train, self.judge
        return shrink_until(network, {"flame": limit}, *parts, attempts, **how)


def sizes(found) -> list[int]:
    return [attempt.parameters for attempt in found.trace]


def step(least: int):
    """The error in a task that needs `least` parameters, and retraining."""
    return lambda size, trained: 0.005 if size >= least and trained else 0.1


def test_sizes_fall_by_the_factor_and_after_a_failure_by_its_square_root():
    found = Task(step(240)).search()
    # 0.5 passes twice and fails at 125; 250 / sqrt 2 = 176 fails; 250 * 0.5 ** 0.25 = 210 fails;
    # the next factor, 0.917, is larger than max_keep_ratio.
    assert sizes(found) == [1000, 500, 250, 125, 176, 210]
    assert [a.passed for a in found.trace] == [True, True, True, False, False, False]
    assert [a.parent for a in found.trace] == [0, 0, 1, 2, 2, 2]
    assert [a.factor for a in found.trace] == pytest.approx([1, 0.5, 0.5, 0.5, 2**-0.5, 2**-0.25])
    assert (found.reason, found.smallest.number, found.network.size) == ("max_keep_ratio", 2, 250)
    assert found.smallest.share == 0.25
    assert found.trace[1].errors_cut == {"flame": 0.1} and found.trace[1].errors["flame"] == 0.005
    # Two cuts, and the trainings of attempts 1 and 2: failed attempts changed nothing.
    assert torch.equal(found.network.values, torch.full((250,), 1 + 2 + 1 + 4.5))


def test_the_factor_stays_after_a_success():
    found = Task(step(620)).search()
    assert sizes(found) == [1000, 500, 707, 499, 594]
    assert [a.passed for a in found.trace[1:]] == [False, True, False, False]


@pytest.mark.parametrize("max_keep_ratio", [0.6, 0.75, 0.88, 0.97])
@pytest.mark.parametrize("least", [1, 30, 101, 333, 840, 999])
def test_the_smallest_network_is_found_up_to_the_last_factor(least, max_keep_ratio, monkeypatch):
    monkeypatch.setattr(shrink, "MAX_KEEP_RATIO", max_keep_ratio)
    found = Task(step(least), least=2).search(100)
    assert found.network.size >= least and found.reason == "max_keep_ratio"
    # A network smaller by the last factor that was tried would fail.
    last = found.trace[-1].factor
    assert found.network.size * last < max(least, 2) + 1
    assert last <= max_keep_ratio < math.sqrt(last)


def test_a_size_that_failed_in_one_cut_may_pass_in_smaller_ones():
    # 500 fails at first, cut from 1000, and passes when cut from 707, which was retrained.
    def judge(network):
        return {"flame": 0.1 if task.cuts == [500] else 0.0 if network.size > 400 else 0.1}

    task = Task(None)
    task.cuts = []
    whole = task.cut
    task.cut = lambda network, share: (
        task.cuts.append(round(share * network.size)) or whole(network, share)
    )
    task.judge = judge
    found = task.search()
    assert sizes(found)[1:4] == [500, 707, 499] and found.trace[3].passed
    assert found.network.size < 500


def test_where_nothing_smaller_passes_the_given_network_is_the_result():
    task = Task(lambda size, trained: 0.0 if size == FULL else 1.0)
    found = task.search()
    assert found.network.size == FULL and found.smallest.number == 0
    assert sizes(found) == [1000, 500, 707, 840] and found.reason == "max_keep_ratio"


def test_a_search_without_failures_ends_where_nothing_smaller_can_be_cut():
    task = Task(lambda size, trained: 0.0, least=100)
    found = task.search()
    assert sizes(found)[:4] == [1000, 500, 250, 125] and found.network.size < 125
    assert found.network.size * 0.5**0.25 < 101  # the next cut would be too small
    refused = [a for a in found.trace if a.note]
    assert refused and all(a.passed is False and a.errors is None for a in refused)
    assert all("fewer than 100" in a.note for a in refused)
    assert task.calls.count("train") == len(found.trace) - 1 - len(refused)


def test_attempts_are_limited():
    found = Task(lambda size, trained: 0.0).search(3)
    assert sizes(found) == [1000, 500, 250, 125] and found.reason == "attempts"
    assert found.network.size == 125


def test_a_network_that_does_not_keep_the_limits_is_refused_before_any_cut():
    task = Task(lambda size, trained: 0.032)
    with pytest.raises(NotPassed, match=r"flame 3.2 % \(at most 1 %\)"):
        task.search()
    assert task.calls == ["judge"]


def test_a_training_that_diverges_is_a_failed_attempt():
    task = Task(step(1))
    whole = task.train

    def train(network, number):
        if number == 2:
            raise FloatingPointError("diverged at step 7")
        return whole(network, number)

    task.train = train
    found = task.search(3)
    assert [a.passed for a in found.trace] == [True, True, False, True]
    assert found.trace[2].note == "diverged at step 7" and found.trace[3].parent == 1


def test_a_cut_that_removes_nothing_is_a_failed_attempt():
    task = Task(step(1))
    task.cut = lambda network, share: Vector(network.values.detach().clone())
    found = task.search()
    assert found.smallest.number == 0 and "no fewer" in found.trace[1].note
    assert "train" not in task.calls


def test_errors_that_are_missing_nan_or_infinite_fail():
    limits = {"ignition": 0.01, "flame": 0.02}
    assert passes({"ignition": 0.01, "flame": 0.02, "other": 9.0}, limits)
    assert not passes({"ignition": 0.0}, limits)
    assert not passes({"ignition": math.nan, "flame": 0.0}, limits)
    assert not passes({"ignition": math.inf, "flame": 0.0}, limits)
    words = format_errors({"ignition": math.inf}, limits)
    assert words == "ignition failed (at most 1 %), flame not judged (at most 2 %)"


def test_a_search_without_limits_or_attempts_is_refused():
    for limits, attempts in (({}, 12), ({"flame": 0.01}, 0)):
        with pytest.raises(ValueError, match="ask for nothing"):
            shrink_until(Vector(torch.zeros(3)), limits, None, None, None, attempts)


def save(path, network):
    save_file({"values": network.values.detach().contiguous()}, path)


def load(path):
    return Vector(load_file(path)["values"])


def memory(folder, inputs=None) -> AttemptFolder:
    return AttemptFolder(folder, inputs or {"limits": {"flame": 0.01}}, save, load)


def without_time(found) -> list[dict]:
    return [{k: v for k, v in asdict(a).items() if k != "seconds"} for a in found.trace]


@pytest.fixture(scope="module")
def uninterrupted():
    task = Task(step(240), least=130)
    return task.search(), len(task.calls)


def test_a_search_killed_at_any_call_and_resumed_gives_the_same_result(uninterrupted, tmp_path):
    whole, calls = uninterrupted
    for kill_at in range(1, calls + 1):
        folder = tmp_path / str(kill_at)
        killed = Task(step(240), least=130, kill_at=kill_at)
        with pytest.raises(Killed):
            killed.search(memory=memory(folder))
        again = Task(step(240), least=130)
        found = again.search(memory=memory(folder))
        assert without_time(found) == without_time(whole), kill_at
        assert torch.equal(found.network.values, whole.network.values), kill_at
        # Only the attempt in flight is repeated.
        assert len(killed.calls) + len(again.calls) <= calls + 2, kill_at
        names = {path.name for path in folder.iterdir()}
        assert names == {
            "attempts.jsonl",
            "attempts.state",
            "attempt1.network",
            "attempt2.network",
        }


@pytest.mark.parametrize("written", ["network", "attempts"])
def test_a_search_killed_while_it_writes_gives_the_same_result(
    uninterrupted, tmp_path, written, monkeypatch
):
    whole, _ = uninterrupted
    for kill_at in range(1, 9):
        count = 0

        def die(write, kill_at=kill_at):
            def counted(*arguments):
                nonlocal count
                write(*arguments)
                count += 1
                if count == kill_at:
                    raise Killed

            return counted

        folder = tmp_path / str(kill_at)
        with monkeypatch.context() as patch:
            how = save
            if written == "network":
                how = die(save)
            else:
                patch.setattr(trace, "save_tensors", die(trace.save_tensors))
            store = AttemptFolder(folder, {"limits": {"flame": 0.01}}, how, load)
            try:
                Task(step(240), least=130).search(memory=store)
            except Killed:
                pass
        found = Task(step(240), least=130).search(memory=memory(folder))
        assert without_time(found) == without_time(whole)
        assert torch.equal(found.network.values, whole.network.values)
        kept = {path.name for path in folder.glob("attempt?.network")}
        assert kept == {"attempt1.network", "attempt2.network"}


def test_a_finished_search_is_read_from_its_folder(uninterrupted, tmp_path):
    Task(step(240), least=130).search(memory=memory(tmp_path))
    task = Task(step(240), least=130)
    found = task.search(memory=memory(tmp_path))
    assert task.calls == [] and without_time(found) == without_time(uninterrupted[0])
    assert torch.equal(found.network.values, uninterrupted[0].network.values)


def test_a_search_with_more_attempts_goes_on(tmp_path):
    Task(step(240)).search(2, memory=memory(tmp_path))
    task = Task(step(240))
    found = task.search(memory=memory(tmp_path))
    assert sizes(found) == [1000, 500, 250, 125, 176, 210]
    assert task.calls.count("cut") == 3


def test_a_folder_of_another_search_is_refused_unless_nothing_was_cut(tmp_path):
    with pytest.raises(NotPassed):
        Task(lambda size, trained: 0.032).search(memory=memory(tmp_path))
    other = {"limits": {"flame": 0.05}}
    assert memory(tmp_path, other).trace() == []  # other limits: the network is judged anew
    assert memory(tmp_path).trace() == []  # also after a kill in that moment, and with any limits
    with pytest.raises(Killed):
        Task(step(240), kill_at=4).search(memory=memory(tmp_path, other))  # in the first training
    with pytest.raises(ValueError, match="other settings"):
        memory(tmp_path).trace()
    Task(step(240)).search(memory=memory(tmp_path, other))
    with pytest.raises(ValueError, match="other settings .limits.flame: 0.05 then, 0.01 now"):
        memory(tmp_path).trace()


def test_stored_attempts_are_judged_by_the_present_limits(tmp_path):
    found = Task(step(240)).search(2, memory=memory(tmp_path))  # errors of 0.005
    task = Task(step(240))
    assert task.search(2, 0.008, memory=memory(tmp_path)).network.size == found.network.size
    with pytest.raises(NotPassed, match=r"flame 0.5 % \(at most 0.1 %\)"):
        Task(lambda size, trained: 0.005 if size == FULL else 0.008).search(
            limit=0.001, memory=memory(tmp_path / "other")
        )
    other = Task(lambda size, trained: 0.005 if size == FULL else 0.008)
    assert other.search(1, memory=memory(tmp_path / "other")).network.size == 500  # judged anew
    with pytest.raises(ValueError, match=r"attempt 1 .* other limits, and has flame 0.8 %"):
        other.search(limit=0.006, memory=memory(tmp_path / "other"))


def test_networks_may_be_stored_by_torch(tmp_path):
    how = torch.save, functools.partial(torch.load, weights_only=False)
    for _ in range(2):
        found = Task(step(240)).search(
            memory=AttemptFolder(tmp_path, {}, lambda path, one: how[0](one, path), how[1])
        )
        assert found.network.size == 250


def test_a_missing_network_is_named(tmp_path):
    Task(step(240)).search(memory=memory(tmp_path))
    (tmp_path / "attempt2.network").unlink()
    with pytest.raises(FileNotFoundError, match="attempt2"):
        Task(step(240)).search(memory=memory(tmp_path))
