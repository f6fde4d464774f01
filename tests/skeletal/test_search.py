"""The search on judges whose errors are known: sums of what each species is worth."""

import numpy as np
import pytest

from combred.files.records import read_record
from combred.skeletal import search as search_module
from combred.skeletal.flames import Flame
from combred.skeletal.judging import Bench, Panel, worst
from combred.skeletal.reducing import Wanted, choose, walk
from combred.skeletal.search import Search, Step


class Priced:
    """The error is the sum of the prices of the species that are gone, and of reactions that are
    removed; `gone` gives other sums for sets of species."""

    name, cases = "price", ["sum"]

    def __init__(self, prices, of_reactions=0.0, gone=None):
        self.prices, self.of_reactions, self.gone = np.array(prices), of_reactions, gone or {}
        self.asked = 0

    def errors(self, skeleton):
        self.asked += 1
        removed = frozenset(np.flatnonzero(~skeleton.species).tolist())
        price = self.gone.get(removed, self.prices[list(removed)].sum())
        lost = np.flatnonzero(~skeleton.listed)
        return np.array([price + self.of_reactions * lost.sum()])


def panel(network, *judges):
    """Of judges in this process."""
    bench = Bench(network, list(judges))
    return Panel(bench.judges, lambda work, tasks: [work(bench, task) for task in tasks])


def test_cases_of_one_name_are_all_kept(network):
    """Random cases of a narrow range have the same rounded numbers."""
    twins = Priced([0.1] * 10)
    twins.cases, twins.errors = ["sum", "sum"], lambda _: np.array([3.0, 1.0])
    found = panel(network, twins, Priced([0.2] * 10)).by_case(network.whole())
    assert found == {"price": {"sum": 3.0, "sum, case 2": 1.0, "sum, case 3": 0.0}}


PRICES = [0.0, 0.0, 3e-3, 5e-3, 1e-4, 2e-2, 1e-6, np.inf, 4e-3, 0.0]


def walked(search, step, end, fewest=0):
    return [step, *search.path(step, end, fewest)]


def test_species_leave_in_the_order_of_their_price(network):
    """Those that change nothing leave together, those that stay do not leave, and a candidate of
    infinite error ends the path."""
    search = Search(panel(network, Priced(PRICES)), 0.01, frozenset({0, 9}))
    names = network.mechanism.species_names
    steps = walked(search, Step(network.whole(), [], {"price": 0.0}), np.inf)[1:]
    first = steps[0]
    assert set(first.removed) == {names[1], names[4], names[6]}
    assert first.error == pytest.approx(1.01e-4)
    assert [step.removed for step in steps[1:]] == [[names[k]] for k in (2, 8, 3, 5)]
    assert steps[-1].skeleton.names() == [names[k] for k in (0, 7, 9)]
    errors = [step.error for step in steps]
    assert errors == sorted(errors) and errors[-1] == pytest.approx(np.sum(PRICES[2:7]) + 4e-3)
    assert [len(walked(search, first, end)) for end in (0.0, 5e-3, 0.012)] == [1, 3, 4]
    assert walked(search, first, np.inf, 5)[-1].skeleton.n_species == 5


def test_a_swap_finds_what_greedy_removal_cannot(network):
    """Greedy removal takes species 2, which is cheap alone; the pair 3, 4 is cheaper without it."""
    prices = [np.inf, np.inf, 1e-3, 2e-3, 2e-3, *[np.inf] * 5]
    pairs = {frozenset(pair): 0.5 for pair in ((2, 3), (2, 4))} | {frozenset((3, 4)): 5e-3}
    search = Search(panel(network, Priced(prices, gone=pairs)), 0.01, frozenset())
    search.score = dict.fromkeys(range(10), 0.0)
    greedy = search.next(network.whole())
    assert greedy.removed == [network.mechanism.species_names[2]]
    assert search.next(greedy.skeleton).error == 0.5
    found = search.swap(greedy, [2])
    assert np.flatnonzero(~found.skeleton.species).tolist() == [3, 4] and found.error == 5e-3
    assert search.swap(found, [2, 3, 4]) is None


def test_after_a_swap_species_leave_alone_again(network):
    """As above, and without 3 and 4 species 5 is cheap, which is not while 2 is gone."""
    prices = [np.inf, np.inf, 1e-3, 2e-3, 2e-3, 2e-3, *[np.inf] * 4]
    dear = [(2, 3), (2, 4), (2, 5), (3, 5), (4, 5), (2, 3, 4), (2, 3, 4, 5)]
    pairs = {frozenset(some): 0.5 for some in dear} | {frozenset((3, 4)): 5e-3}
    pairs[frozenset((3, 4, 5))] = 6e-3
    search = Search(panel(network, Priced(prices, gone=pairs)), 0.01, frozenset())
    steps = [search.judge(network.whole().without(*gone), gone) for gone in ([], [2])]
    found = choose(search, steps, Wanted(error=0.01), lambda *_: None)
    assert np.flatnonzero(~found.skeleton.species).tolist() == [3, 4, 5] and found.error == 6e-3


def test_a_walk_that_was_stopped_ends_as_one_that_was_not(network, tmp_path, monkeypatch):
    """A round looks at the best of the round before, whose estimates therefore are kept. Without
    them species 3 would leave after species 0. The seconds before the stop count."""
    monkeypatch.setattr(search_module, "LOOKED_AT", 2)
    prices = [1e-2, 2e-2, 3e-2, 4e-2, *[np.inf] * 6]
    gone = {frozenset((0, 3)): 1e-2, frozenset((0, 1, 3)): 3e-2, frozenset((0, 1, 2)): 6e-2}
    file = tmp_path / "reduce.json"

    def walk_on(record, on_progress=lambda *_: None):
        search = Search(panel(network, Priced(prices, gone=gone)), 0.01, frozenset())
        steps = walk(search, network.whole(), record, file, Wanted(error=0.01), on_progress)
        return [step.removed for step in steps]

    def stop(*_):
        raise KeyboardInterrupt

    whole = walk_on({"path": []})
    assert whole[1:3] == [[network.mechanism.species_names[k]] for k in (0, 1)]
    with pytest.raises(KeyboardInterrupt):
        walk_on({"path": []}, stop)
    stopped = read_record(file)
    assert len(stopped["path"]) == 1
    stopped["path"][0]["seconds"] = 100.0
    assert walk_on(stopped) == whole and read_record(file)["path"][-1]["seconds"] > 100.0


def test_as_many_reactions_leave_as_the_limit_allows(network):
    """Reaction i is worth i 1e-4, and the cheapest leave first: 0 + 1 + ... + 13 = 91."""
    judge = Priced([0.0] * 10, of_reactions=1e-4)
    search = Search(panel(network, judge), 0.0091, frozenset())
    found = search.remove_reactions(Step(network.whole(), [], {"price": 0.0}))
    assert np.flatnonzero(~found.skeleton.listed).tolist() == list(range(14))
    assert found.error == pytest.approx(0.0091)


class Told(Flame):
    """A flame whose errors are as given, and their first-order estimates, too."""

    def __init__(self, true, first):
        self.true, self.first, self.solved = true, first, []

    def errors(self, skeleton):
        gone = np.flatnonzero(~skeleton.species)
        self.solved += gone.tolist()
        return np.array([sum(self.true[k] for k in gone)])

    def first_order(self, skeleton):
        return sum(self.first[k] for k in np.flatnonzero(~skeleton.species))


def test_flames_are_solved_for_the_best_and_decide(network):
    """By the estimates species 0, 1, 2 are best; the flames of 0 are bad, those of 1 good, and
    species whose estimate is above that are not solved any more."""
    estimates = [1e-4, 2e-4, 3e-4, 4e-3, *[1e-2] * 6]
    flames = Told([0.3, 1e-3, 2e-3, *[0.0] * 7], estimates)
    search = Search(panel(network, Priced([0.0] * 10), flames), 0.01, frozenset())
    step = search.next(network.whole())
    assert step.removed == [network.mechanism.species_names[1]]
    assert step.errors == {"price": 0.0, "flame": pytest.approx(1e-3)}
    assert flames.solved == [0, 1, 2]


@pytest.mark.parametrize("error", [np.nan, np.inf, -np.inf])
def test_an_error_that_is_no_number_is_infinite(error):
    assert worst(np.array([0.1, error])) == np.inf and worst(np.array([0.1, -0.2])) == 0.2
    assert worst(np.array([])) == 0.0
