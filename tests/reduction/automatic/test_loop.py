"""Automatic condensation: the equations and numbers of the paper; every path of the loop, with
scripted metrics; and a loop that is killed and resumed. A real run: tests/pipeline/steps."""

import copy
import math

import pytest
import torch
from torch import nn

from combred.reduction import apply_merge, condense, describe_units, find_layers
from combred.reduction.automatic import AutomaticSettings, reduce_automatically
from combred.reduction.automatic.criteria import fall, logistic
from combred.surrogates.model.network import Network

X = torch.ones(1, 6)
# Pairs of units in planes of their own; a stricter threshold merges fewer of them.
COSINES = (0.885, 0.895, 0.99)
EXACT = (1.0, 1.0, 1.0)


def paired(cosines=COSINES, hidden: int = 2, seed: int = 0) -> Network:
    """6-6-...-6-3: in each of `hidden` layers units 2i and 2i + 1 enclose the i-th cosine."""
    network = Network([6] * (hidden + 1) + [3])
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for layer in network.layers[:-1]:
            layer.bias.zero_()
            layer.weight.zero_()
            for i, cosine in enumerate(cosines):
                layer.weight[2 * i, 2 * i] = 1.0
                layer.weight[2 * i + 1, 2 * i] = cosine
                layer.weight[2 * i + 1, 2 * i + 1] = math.sqrt(1 - cosine**2)
        network.layers[-1].weight.normal_(generator=generator)
    return network


class Script:
    """`train` and `metric` of which the metrics are given, in the order of the calls; the last one
    repeats. Training changes the weights a little and records its arguments in `calls`. With
    `remember`, a copy of each network that is tested is kept in `seen`."""

    def __init__(self, *metrics: float, remember: bool = False):
        self.metrics, self.calls, self.seen, self.remember = list(metrics), [], [], remember

    def train(self, network: nn.Module, rate: float) -> None:
        self.calls.append(rate)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.mul_(1 + 1e-6)

    def metric(self, network: nn.Module) -> float:
        if self.remember:
            self.seen.append(copy.deepcopy(network))
        return self.metrics.pop(0) if len(self.metrics) > 1 else self.metrics[0]


def run(script: Script, network: nn.Module | None = None, **settings):
    """The loop on a paired network, by default without a final cut."""
    plain = {"final_threshold": None, "patience": 1, "max_steps": 3000}
    network = paired() if network is None else network
    return reduce_automatically(
        network, X, script.train, script.metric, AutomaticSettings(**plain | settings)
    )


def kinds(found, *names: str) -> list[str]:
    return [e.kind for e in found.trace if not names or e.kind in names]


def of(found, *names: str) -> list:
    return [e for e in found.trace if e.kind in names]


def same(one: nn.Module, other: nn.Module) -> bool:
    a, b = one.state_dict(), other.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


@pytest.mark.parametrize("t", [0, 1, 15, 99, 100, 150, 199])
def test_rate_and_criteria_are_equations_21_and_22(t):
    def equation_21(t):
        return 0.0001 + 0.5 * (0.01 - 0.0001) * (1 + math.cos(math.pi * t / 200))

    def equation_22(t):
        return 0.85 + 0.5 * (0.88 - 0.85) * (1 + math.cos(math.pi * t / 100)) if t < 100 else 0.85

    settings = AutomaticSettings()
    # float64 rounding; t_reduction is the number of reductions less one
    assert math.isclose(settings.rate(t + 1), equation_21(t), rel_tol=1e-14)
    assert math.isclose(settings.main_criterion(t + 1), equation_22(t), rel_tol=1e-14)
    assert settings.main_criterion(16) == pytest.approx(0.87837, abs=5.1e-6)  # as printed
    assert settings.layer_criterion(t + 1) == pytest.approx(settings.main_criterion(t + 1) - 0.04)
    assert settings.rate(201) == settings.rate(10_000) == 0.0001
    assert fall(0, 2.0, 1.0, 10) == 2.0


@pytest.mark.parametrize("t_fail", [-30, -1, 0, 1, 2, 50])
def test_thresholds_are_equations_23_to_25(t_fail):
    literal = 1 / (1 + math.exp(-2 - 0.1 * t_fail))
    assert math.isclose(AutomaticSettings().threshold(t_fail), literal, rel_tol=1e-14)  # float64
    assert logistic(-1e5) == 0.0 and logistic(1e5) == 1.0


@pytest.mark.parametrize(
    "wrong, says",
    [
        ({"main_min": 0.9}, "main_min=0.9 lies above main_max=0.88"),
        ({"layer_max": 0.89}, "layer_max=0.89 lies above main_max=0.88"),
        ({"layer_min": 0.86, "layer_max": 0.87}, "layer_min=0.86 lies above main_min"),
        ({"rate_min": -1.0}, "rate_min"),
        ({"rate_min": 0.0, "rate_max": 0.0}, "rate_max=0.0 must be positive"),
        ({"main_max": math.nan}, "main_max=nan must be finite"),
        ({"last_criterion": 0.95}, "in the units of the metric"),
        ({"deviation": 0.81}, "deviation=0.81 lies above last_criterion=0.8: give it in the units"),
        (  # criteria of another metric, without the settings that belong to them
            {"main_max": -0.1, "main_min": -0.2, "layer_max": -0.3, "layer_min": -0.4},
            "last_criterion=0.8 lies above main_max=-0.1",
        ),
        ({"step_limit": 0}, "step_limit=0 must be a whole number, at least 1"),
        ({"step_limit": 1.5}, "step_limit=1.5"),
        ({"patience": True}, "patience=True"),
        ({"target": -5}, "target=-5"),
        ({"step_increment": -1}, "step_increment"),
        ({"logit_step": 0.0}, "logit_step"),
        ({"too_little": 0.0}, "too_little"),
        ({"final_threshold": 1.1}, "is a cosine"),
        ({"layers": ()}, "names no layer"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        AutomaticSettings(**wrong)


def test_success_reduces_layer_after_layer_and_ends_when_nothing_more_reduces():
    script, network = Script(1.0), paired()
    given = copy.deepcopy(network)
    found = run(script, network)
    first = ["test", "main", "cut", "met", "cut", "met", "main"]
    assert kinds(found)[:7] == first
    assert found.reason == "nothing" and kinds(found)[-3:] == ["unchanged", "unchanged", "end"]
    assert found.network.widths == [6, 3, 3, 3]
    assert found.smallest.parameters == sum(p.numel() for p in found.network.parameters())
    assert same(network, given) and network is not found.network
    cut = of(found, "cut")[0]
    assert cut.units == {"layers.0": 3, "layers.1": 6}
    assert cut.threshold == AutomaticSettings().threshold(0) and cut.t_fail == 0
    assert cut.parameters < found.trace[0].parameters
    met = of(found, "met")
    assert met[0].units == {"layers.0": 3, "layers.1": 6}
    assert [e.layer for e in met] == ["layers.0", "layers.1"] and [e.main for e in met] == [1, 1]
    # a condensed layer is trained once before it is judged
    assert [e.trained for e in met] == [1, 1] and script.calls[0] == 0.01
    assert [e.event for e in found.trace] == list(range(len(found.trace)))
    assert found.main.parameters == found.smallest.parameters
    assert "layers.2" in found.untouched


def test_training_comes_first_until_the_main_criterion_is_met():
    script = Script(0.3, 0.6, 0.87, 0.88, 1.0)
    found = run(script)
    assert kinds(found)[:6] == ["test", "test", "test", "test", "main", "cut"]
    assert script.calls[:3] == [0.01] * 3
    assert of(found, "main")[0].step == 3


def test_criteria_and_rate_fall_with_every_reduction():
    script = Script(1.0)
    found = run(script, paired(hidden=3), rate_period=4, criterion_period=4)
    settings = AutomaticSettings(rate_period=4, criterion_period=4)
    met = of(found, "met")
    assert [e.reductions for e in met] == [1, 2, 3]
    # t_reduction is 0 for the first two; the last layer has a criterion of its own
    assert [e.criterion for e in met] == [0.84, 0.84, 0.8]
    assert of(found, "main")[1].criterion == settings.main_criterion(3) < 0.88
    assert script.calls == [0.01, 0.01, settings.rate(2)]
    assert settings.rate(2) < 0.01 and settings.layer_criterion(2) < 0.84


def test_a_failure_is_rolled_back_and_the_next_attempt_is_longer_and_stricter():
    # begin, cut, 20 tests below 0.84, cut again, 30 tests, cut again, met
    metrics = 1.0, 0.7, *[0.83] * 20, 0.7, *[0.83] * 30, 0.7, 0.85, 1.0
    script = Script(*metrics, remember=True)
    network = paired()
    found = run(script, network)
    cuts = [e for e in of(found, "cut") if e.layer == "layers.0"]
    told = [(e.attempt, e.t_fail, e.step_limit) for e in cuts[:3]]
    assert told == [(1, 0, 20), (2, 1, 30), (3, 2, 40)]
    back = of(found, "rollback")
    assert [e.reason for e in back] == ["limit", "limit"] and [e.trained for e in back] == [20, 30]
    assert back[0].parameters == found.trace[0].parameters
    assert back[0].units == {"layers.0": 6, "layers.1": 6} and back[0].metric == 0.83
    # Each attempt starts from the weights of the save point, not from those trained since.
    layer = find_layers(network, X)["layers.0"]
    for at, t_fail in ((1, 0), (22, 1), (53, 2)):
        merge = condense(
            describe_units(network, layer), threshold=AutomaticSettings().threshold(t_fail)
        )
        assert same(script.seen[at], apply_merge(network, layer, merge))
    assert [e.units["layers.0"] for e in cuts[:3]] == [3, 4, 5]  # stricter than 0.885, then 0.895
    following = [e for e in of(found, "cut") if e.layer == "layers.1"][0]
    assert following.attempt == 1 and following.step_limit == 200 and following.t_fail == 0


def test_the_longer_limit_holds_for_other_layers_but_the_last():
    script = Script(1.0, 0.7, *[0.83] * 20, 1.0)
    found = run(script, paired(hidden=3))
    limits = {e.layer: e.step_limit for e in of(found, "met")}
    assert limits["layers.0"] == limits["layers.1"] == 30 and limits["layers.2"] == 200


def test_a_success_that_removes_too_little_makes_the_threshold_less_strict():
    found = run(Script(1.0), too_little=0.5)  # a cut leaves some 70 % of the parameters
    t_fail = [e.t_fail for e in found.trace if e.layer == "layers.0"]
    assert t_fail == [0, 0, -1]
    assert [e.t_fail for e in run(Script(1.0)).trace if e.layer == "layers.0"] == [0, 0, 0]


def test_a_layer_in_which_nothing_merges_is_done_and_its_next_threshold_less_strict():
    script = Script(1.0)
    found = run(script, paired((0.85, 0.86, 0.875)), patience=3)
    unchanged = [e for e in of(found, "unchanged") if e.layer == "layers.0"]
    assert unchanged[0].t_fail == 0 and unchanged[0].units == found.trace[0].units
    cut = of(found, "cut")[0]
    assert cut.t_fail == -1 and cut.units[cut.layer] == 5 and cut.main == 2
    assert of(found, "main")[1].reductions == 0  # nothing has been reduced yet
    # Of the main reductions that removed nothing, three in a row end the loop.
    units = [e.parameters for e in of(found, "main")] + [found.trace[-1].parameters]
    idle = [a == b for a, b in zip(units, units[1:], strict=False)]
    assert idle[-4:] == [False, True, True, True] and idle[0] and found.reason == "nothing"
    # After a main reduction that removed nothing, training goes on before the next.
    assert of(found, "main")[1].step == 1


@pytest.mark.parametrize(
    "bad, deviation, steps, reason",
    [(0.1, 0.5, 10, "deviated"), (0.1, None, 20, "limit"), (math.nan, 0.5, 10, "deviated")],
)
def test_a_deviated_network_is_rolled_back_early(bad, deviation, steps, reason):
    found = run(Script(1.0, bad, *[bad] * steps, 1.0), deviation=deviation)
    back, again = of(found, "rollback")[0], of(found, "cut")[1]
    assert (back.reason, back.trained, found.smallest.metric) == (reason, steps, 1.0)
    assert back.metric == pytest.approx(bad, abs=0.0, nan_ok=True)
    assert again.layer == "layers.0" and again.t_fail == 1 and again.step_limit == 30


def test_a_network_that_recovers_before_ten_steps_has_not_deviated():
    found = run(Script(1.0, 0.1, *[0.1] * 9, 0.6, 0.9, 1.0))
    assert not of(found, "rollback") and of(found, "met")[0].trained == 11


def test_the_last_layer_has_limits_of_its_own():
    # layer 1 cut and met; layer 2 below the layer criterion for 200 steps, then at 0.8
    script = Script(1.0, 1.0, 1.0, 0.7, *[0.79] * 200, 0.7, 0.81, 1.0)
    found = run(script)
    back = of(found, "rollback")[0]
    told = back.layer, back.trained, back.criterion, back.step_limit
    assert told == ("layers.1", 200, 0.8, 200)
    met = of(found, "met")[1]
    assert (met.layer, met.metric, met.criterion) == ("layers.1", 0.81, 0.8)
    assert found.trace[-1].kind == "end" and met.attempt == 2 and met.t_fail == 1
    found = run(Script(1.0, 1.0, 1.0, 0.7, *[0.79] * 20, 1.0), last_steps=None, last_criterion=None)
    back = of(found, "rollback")[0]
    assert (back.trained, back.criterion) == (20, AutomaticSettings().layer_criterion(1))
    # the failures of the last layer leave the limit of the others alone
    assert of(found, "cut")[2].step_limit == 20


@pytest.mark.parametrize(
    "cosines, bad",
    [(COSINES, 0.6), (COSINES, -math.inf), (EXACT, 0.6), (EXACT, 0.0), (EXACT, math.nan)],
)
def test_a_metric_that_never_recovers_ends_the_loop_by_its_steps(cosines, bad):
    """Exact copies merge at any threshold: only the limit of attempts ends their reduction."""
    network = paired(cosines)
    found = run(Script(1.0, bad), network, attempts=3, patience=2, max_steps=250, last_steps=30)
    assert found.reason == "steps" and found.trace[-1].kind == "end"
    assert found.trace[-1].reason == "steps" and found.trace[-1].step == 250
    assert same(found.network, network) and found.smallest.metric == 1.0
    if cosines == EXACT:
        left = of(found, "left")
        assert [(e.layer, e.attempt) for e in left] == [("layers.0", 4), ("layers.1", 4)]


def test_a_network_that_cannot_be_reduced_ends_the_loop_by_its_patience():
    """The given network meets its criterion, no smaller one does."""
    network = paired(EXACT)

    def metric(candidate):
        return 1.0 if candidate.widths == network.widths else 0.2

    found = reduce_automatically(
        network, X, Script(0.0).train, metric,
        AutomaticSettings(final_threshold=None, patience=3, attempts=2, max_steps=10_000),
    )  # fmt: skip
    assert found.reason == "nothing" and found.network.widths == network.widths
    assert max(e.main for e in found.trace) == 3


def test_without_the_main_criterion_ever_met_the_best_network_is_returned():
    found = run(Script(0.2, 0.3, 0.5, 0.4), max_steps=10)
    assert found.reason == "steps" and not of(found, "main") and found.main is None
    assert (found.smallest.metric, found.smallest.step, found.smallest.criterion) == (0.5, 2, None)
    assert found.network.widths == [6, 6, 6, 3]


def test_the_smallest_network_and_the_smallest_good_one_are_both_kept():
    # layer 1: 0.85 meets its criterion, not the main one; it never gets better
    found = run(Script(1.0, 0.7, 0.85, 0.9, 0.81), max_steps=40)
    assert found.network.widths == [6, 3, 3, 3] and found.smallest.criterion == 0.8
    assert found.smallest.metric == 0.81 and found.main.network.widths == [6, 6, 6, 3]
    assert found.main.metric == 1.0 and found.reason == "steps"


def test_the_reduction_ends_at_the_target():
    given = sum(p.numel() for p in paired(hidden=3).parameters())
    gone = 3 * 7 + 3 * 6  # three rows with their biases, and what the next layer read of them
    found = run(Script(1.0), paired(hidden=3), target=given - gone)
    assert found.reason == "target" and len(of(found, "met")) == 1
    assert found.network.widths == [6, 3, 6, 6, 3]
    with pytest.raises(ValueError, match="ask for fewer"):
        run(Script(1.0), paired(hidden=3), target=given)


def test_the_final_cut_comes_last():
    found = run(Script(1.0), paired(hidden=3, cosines=(0.5, 0.9, 0.95)), final_threshold=0.4)
    final = [e for e in found.trace if e.phase == "final"]
    assert [e.kind for e in final] == ["cut", "met"] and final[0].threshold == 0.4
    assert final[0].layer == "layers.2" and final[0].t_fail is None
    assert found.trace[-1].reductions == final[0].reductions
    assert not [e for e in found.trace if e.phase == "layer" and e.layer == "layers.2"]
    assert found.network.widths[3] == 3 and found.network.widths[1] > 3
    assert found.smallest.criterion == final[1].criterion == AutomaticSettings().layer_criterion(2)


def test_a_final_cut_that_fails_is_rolled_back():
    network = paired(hidden=3, cosines=(0.5, 0.9, 0.95))

    def metric(candidate):
        return 1.0 if candidate.widths[3] == 6 else 0.6

    settings = AutomaticSettings(patience=1, final_steps=25)
    found = reduce_automatically(network, X, Script(0.0).train, metric, settings)
    final = [e for e in found.trace if e.phase == "final"]
    assert final[-1].kind == "rollback" and final[-1].trained == 25
    assert found.network.widths[3] == 6 and found.reason == "nothing"
    assert found.smallest.metric == 1.0


def test_layers_are_named_and_those_that_cannot_be_condensed_are_refused():
    found = run(Script(1.0), paired(hidden=3), layers=("layers.2", 1))
    assert [e.layer for e in of(found, "met")] == ["layers.2", "layers.0"]
    with pytest.raises(ValueError, match="layers.3 cannot be reduced: its units are"):
        run(Script(1.0), paired(hidden=3), layers=("layers.3",))
    with pytest.raises(ValueError, match="is named twice in layers="):
        run(Script(1.0), paired(hidden=3), layers=("layers.1", 2))
    with pytest.raises(ValueError, match="no layer for a main reduction"):
        run(Script(1.0), paired(hidden=1), final_threshold=0.4)
    tanh = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 3))
    with pytest.raises(ValueError, match="set final_threshold=None"):
        run(Script(1.0), tanh, final_threshold=0.4)
    assert "not homogeneous" in run(Script(1.0), tanh).untouched["2"]


class Kill(Exception):
    pass


def erratic(kill_at: int = 0, count: list | None = None):
    """A `train` that draws from torch's generator, and a `metric` that depends on every bit of the
    weights, so that some reductions pass, some fail and some deviate. The `kill_at`-th call of
    either raises."""
    count = [0] if count is None else count

    def tick():
        count[0] += 1
        if count[0] == kill_at:
            raise Kill

    def train(network, rate):
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.mul_(1 + 0.3 * rate * torch.randn(parameter.shape))
        tick()  # after the weights have changed
        return float(rate)

    def metric(network):
        tick()
        total = sum(float(p.detach().double().abs().sum()) for p in network.parameters())
        return 0.4 + 0.6 * math.modf(997 * total)[0]

    return train, metric


ERRATIC = AutomaticSettings(
    main_max=0.92, main_min=0.9, layer_max=0.9, layer_min=0.88, last_criterion=None, last_steps=8,
    deviation=0.5, deviation_steps=3, step_limit=4, step_increment=1, attempts=3,
    patience=3, max_steps=150, final_threshold=0.3, final_steps=6,
)  # fmt: skip


def fresh():
    """A network with a dead unit, whose constant gives its reader a bias that it did not have."""
    torch.manual_seed(11)
    network = paired((0.7, 0.9, 0.93), hidden=3, seed=2)
    with torch.no_grad():
        network.layers[0].weight[5], network.layers[0].bias[5] = 0.0, 0.3
    network.layers[1].bias = None
    return network


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The result of a run that is not killed, the number of its calls, and its folder."""
    folder = tmp_path_factory.mktemp("whole")
    count = [0]
    found = reduce_automatically(fresh(), X, *erratic(0, count), ERRATIC, folder=folder)
    return found, count[0], folder


def test_the_erratic_run_takes_all_paths_of_the_loop(uninterrupted):
    found, _, _ = uninterrupted
    seen = {(e.kind, e.reason) for e in found.trace}
    wanted = [("met", ""), ("rollback", "limit"), ("rollback", "deviated"), ("test", "")]
    assert seen.issuperset([*wanted, ("unchanged", "")])
    assert found.trace[-1].kind == "end" and found.network.layers[1].bias is not None
    again = reduce_automatically(fresh(), X, *erratic(), ERRATIC)  # without a folder
    assert again.trace == found.trace and same(again.network, found.network)


def test_a_loop_that_is_killed_many_times_gives_the_same_result(uninterrupted, tmp_path):
    found, _, _ = uninterrupted
    network, kills = fresh(), 0
    with pytest.raises(Kill):
        reduce_automatically(network, X, *erratic(1), ERRATIC, folder=tmp_path)
    network = fresh()  # nothing is stored yet, not even the generator
    while True:
        events = []
        try:
            again = reduce_automatically(
                network, X, *erratic(17), ERRATIC, folder=tmp_path, on_event=events.append
            )
            break
        except Kill:
            kills += 1
            torch.manual_seed(kills)  # the generator is restored
    assert kills > 10 and again.trace == found.trace == events and again.reason == found.reason
    assert same(again.network, found.network) and again.smallest.step == found.smallest.step
    assert same(again.main.network, found.main.network)
    assert same(network, fresh())


def test_a_finished_folder_gives_its_result_without_training(uninterrupted):
    found, _, folder = uninterrupted
    again = reduce_automatically(fresh(), X, *erratic(1), ERRATIC, folder=folder)
    assert again.trace == found.trace and same(again.network, found.network)
    last = {f"network{one.number}.state" for one in (found.smallest, found.main)}
    names = {path.name for path in folder.iterdir()}
    assert names >= {"trace.jsonl", "trace.state"} | last
    assert len(names) <= 5  # and the one in training


def test_a_folder_of_another_reduction_is_refused(uninterrupted, monkeypatch):
    _, _, folder = uninterrupted
    calls = erratic(1)
    with pytest.raises(ValueError, match="other settings .*step_limit: 4 then, 5 now"):
        other = AutomaticSettings(**vars(ERRATIC) | {"step_limit": 5})
        reduce_automatically(fresh(), X, *calls, other, folder=folder)
    with monkeypatch.context() as patch, pytest.raises(ValueError, match="is of another version"):
        patch.setattr(AutomaticSettings, "layer_criterion", lambda *_: 0.5)
        reduce_automatically(fresh(), X, *calls, ERRATIC, folder=folder)
    network = fresh()
    with torch.no_grad():
        network.layers[0].weight[0, 0] += 1e-6
    with pytest.raises(ValueError, match="other settings .network: '"):
        reduce_automatically(network, X, *calls, ERRATIC, folder=folder)
