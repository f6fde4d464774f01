"""The accuracy of a card: two columns, those of older cards, what a file says first, the limits."""

import json
import math

import pytest

from combred.experiments.accuracy import (
    ALONE,
    BEHIND,
    NOT_MEASURED,
    accuracy_of,
    card_of_file,
    describe_accuracy,
    exceeded,
    exceeding,
    torchscript_name,
)

LIMITS = {"ignition": 0.1, "flame": 0.1}
FLAME = {"speed_error": {"worst": 0.01}, "worst_case": "300 K", "outcome": "steady"}


def errors(worst: float, flame: dict | None = None) -> dict:
    """As validation.json has them."""
    made = {"all_ignite": math.isfinite(worst), "delay_error": {"median": 0.01, "worst": worst}}
    made |= {"worst_case": "1500 K", "burnt_T_error": {"worst": 2.0}, "cases": "not for a card"}
    return made | ({"flame": flame | {"cases": "not for a card"}} if flame else {})


def card_of(alone: float, both: float, weights: int = 9000) -> dict:
    measured = {ALONE: errors(alone), BEHIND: errors(both, FLAME)}
    accuracy = describe_accuracy(measured, 0.25, LIMITS, {"dt": 1e-6})
    return {"network": {"weights": weights}, "accuracy": accuracy}


def test_a_card_has_both_columns_the_share_the_limits_and_the_cases():
    accuracy = card_of(0.87, 0.003)["accuracy"]
    assert list(accuracy) == [ALONE, BEHIND, "left_to_solver", "limits", "measured_on"]
    assert accuracy[ALONE]["delay_error"]["worst"] == 0.87
    assert accuracy[BEHIND]["delay_error"]["worst"] == 0.003
    assert accuracy[BEHIND]["flame"] == FLAME and "flame" not in accuracy[ALONE]
    assert "cases" not in accuracy[ALONE]


@pytest.mark.parametrize(
    ("weights", "extra", "alone", "both"),
    [
        (9000, {}, NOT_MEASURED, 0.01),  # compiled, with the solver behind it
        (6_802_800, {}, 0.01, NOT_MEASURED),  # in TorchScript, which had none
        (9000, {"network_alone": {"median": 0.2, "worst": 0.87}}, 0.87, 0.01),  # combred.judge
    ],
)
def test_a_card_of_format_3_has_no_false_column(weights, extra, alone, both):
    old = {key: value for key, value in errors(0.01).items() if key != "cases"} | extra
    old |= {"rejected": "a sentence of then", "measured_on": {"dt": 1e-6}}
    accuracy = accuracy_of({"network": {"weights": weights}, "accuracy": old})
    for key, worst in ((ALONE, alone), (BEHIND, both)):
        of = accuracy[key]
        assert (of if worst == NOT_MEASURED else of["delay_error"]["worst"]) == worst
    assert accuracy["measured_on"] == {"dt": 1e-6} and "rejected" not in accuracy
    assert accuracy_of({"accuracy": accuracy}) == accuracy


@pytest.mark.parametrize("card", [{}, {"accuracy": {}}, {"accuracy": {ALONE: 3.0}}])
def test_what_was_not_measured_is_said_to_be_so(card):
    accuracy = accuracy_of(card)
    assert accuracy[ALONE] == accuracy[BEHIND] == NOT_MEASURED and exceeding(card) == {}


def test_a_file_says_first_what_it_does_and_whether_it_exceeds_its_limits():
    card = card_of(0.87, 0.003)
    told = "the worst relative error of the ignition delay is 87 %, above 10 %"
    assert exceeding(card) == {ALONE: told}
    of_torch = card_of_file(card, ALONE)["accuracy"]
    assert list(of_torch)[:4] == ["this_file", "exceeds", ALONE, BEHIND]
    assert of_torch["this_file"] == "network alone" and of_torch["exceeds"] == told
    of_library = card_of_file(card, BEHIND)["accuracy"]
    assert list(of_library)[:3] == ["this_file", BEHIND, ALONE]
    assert of_library["this_file"] == "network with the solver behind it"
    again = card_of_file(card_of_file(card, ALONE), BEHIND)["accuracy"]  # of another file before
    assert again == of_library and json.dumps(again) == json.dumps(of_library)
    assert torchscript_name(exceeding(card)) == "rejected.pt"
    assert torchscript_name(exceeding(card_of(0.01, 0.003))) == "surrogate.pt"


def test_a_card_without_limits_has_the_usual_ones_and_one_with_none_accepts_all():
    card = card_of(0.2, 0.003)
    card["accuracy"]["limits"] = {}
    assert exceeding(card) == {}
    del card["accuracy"]["limits"]
    assert exceeding(card).keys() == {ALONE}


@pytest.mark.parametrize(
    ("measured", "said"),
    [
        (errors(0.05, FLAME), ""),
        (errors(math.inf, FLAME), "a case does not ignite"),
        (errors(0.05) | {"delay_error": {"worst": None}}, "a case does not ignite"),
        (errors(0.05, FLAME | {"speed_error": {"worst": 0.2}}),
         "the worst relative error of the laminar flame speed is 20 %, above 10 %"),
        (errors(0.05, {"speed_error": {"worst": math.inf}, "outcome": "went out"}),
         "a flame went out"),
        (errors(0.05, {"speed_error": {"worst": None}, "outcome": "not finite"}),
         "a flame fails (not finite)"),
        ({"delay_error": {"median": 0.3}}, ""),  # written by hand
    ],
)  # fmt: skip
def test_errors_above_their_limits_are_named_in_one_unit(measured, said):
    assert exceeded(measured, LIMITS) == said
