"""The measured errors of a network, alone and with the solver behind it, and the limits that they
exceed.

Takes errors as validation.json and judge.json have them; gives the table `accuracy` of a card, and
the words by which pages, cards and files call the two chemistries. The keys of the table:

    this_file                   which of the two the file computes, in words; of an exported file
    exceeds                     which errors of this file exceed their limits, if any does
    network_alone, with_solver  the errors of each, or "not measured"; see `errors_of`
    left_to_solver              share of states that the network leaves to the solver
    limits                      largest accepted errors, by kind
    measured_on                 the cases
"""

import math
from typing import Any

from combred.config.export import ExportSettings
from combred.config.reduction import CRITERIA

ALONE, BEHIND = "network_alone", "with_solver"  # keys in records and cards
NAMES = {ALONE: "network alone", BEHIND: "network with the solver behind it"}
LEFT = "left to the solver"
NOT_MEASURED = "not measured"
REJECTED = "rejected"  # the name of files whose errors exceed their limits
KEPT = ("all_ignite", "delay_error", "worst_case", "burnt_T_error")
KEPT_OF_FLAMES = ("speed_error", "worst_case", "outcome")
# The largest network that versions with cards of format 3 validated with the solver behind it.
LARGEST_COMPILED = 1_000_000  # weights


def named(stage: int, key: str) -> str:
    """The name of a chemistry of a stage of a run: "stage 2, network alone"."""
    return f"stage {stage}, {NAMES[key]}"


def has_both(numbers: dict) -> bool:
    """Whether the stages of validation.json have the errors of both; those of combred 0.4 do
    not."""
    return all(stage.keys() >= NAMES.keys() for stage in numbers.get("stages", {}).values())


def describe_accuracy(
    measured: dict, left_to_solver: float | None, limits: dict[str, float], inputs: dict
) -> dict:
    """The table of a card. measured: the errors of both, by key, as validation.json has those of a
    stage; left_to_solver: a share; limits: by kind of error, of `config.CRITERIA`; inputs: the
    cases."""
    return {
        **{key: errors_of(measured[key]) for key in NAMES},
        "left_to_solver": left_to_solver,
        "limits": limits,
        "measured_on": inputs,
    }


def errors_of(measured: dict) -> dict:
    """What a card keeps of measured errors: those of delays, burnt temperatures and flame speeds,
    with their worst cases."""
    errors = {key: measured[key] for key in KEPT}
    if flame := measured.get("flame"):
        errors["flame"] = {key: flame.get(key) for key in KEPT_OF_FLAMES}
    return errors


def accuracy_of(card: dict) -> dict:
    """The table of any card in the form of today: of cards of format 3, which had the errors of one
    chemistry, the other is not measured."""
    accuracy: dict[str, Any] = dict(card.get("accuracy") or {})
    if "delay_error" in accuracy:
        errors = {key: accuracy.pop(key) for key in KEPT if key in accuracy}
        alone = accuracy.pop("network_alone", None)  # of combred.judge: its delays
        compiled = card.get("network", {}).get("weights", 0) <= LARGEST_COMPILED
        columns = {BEHIND if compiled or alone else ALONE: errors}
        columns |= {ALONE: {"delay_error": alone}} if alone else {}
        accuracy.pop("rejected", None)  # follows from the limits
        accuracy = {**{key: columns.get(key) for key in NAMES}, **accuracy}
    for key in NAMES:
        if not isinstance(accuracy.get(key), dict):
            accuracy[key] = NOT_MEASURED
    return accuracy


def card_of_file(card: dict, key: str) -> dict:
    """The card that a file carries: the errors of what the file computes stand first, and it says
    where they exceed their limits. key: `ALONE` or `BEHIND`."""
    accuracy = accuracy_of(card)
    first: dict[str, Any] = {"this_file": NAMES[key]}
    if why := exceeding(card).get(key):
        first["exceeds"] = why
    rest = {name: of for name, of in accuracy.items() if name not in ("this_file", "exceeds", key)}
    return card | {"accuracy": first | {key: accuracy[key]} | rest}


def exceeding(card: dict) -> dict[str, str]:
    """Which errors of a card exceed its limits, in words by key: `ALONE`, `BEHIND`; {} where none
    does. A card without limits has those of `export.accept`."""
    accuracy = accuracy_of(card)
    limits = accuracy.get("limits", ExportSettings().limits)
    words = {key: exceeded(accuracy[key], limits) for key in NAMES if accuracy[key] != NOT_MEASURED}
    return {key: why for key, why in words.items() if why}


def torchscript_name(exceeds: dict[str, str]) -> str:
    """The name of the file of the network alone; exceeds: as of `exceeding`. An error of the
    network with the solver behind it counts, too."""
    return f"{REJECTED if exceeds else 'surrogate'}.pt"


def exceeded(errors: dict, limits: dict[str, float]) -> str:
    """The errors of a chemistry, as validation.json has them, that exceed their limits, in words;
    "" where none does. Flames count where there are any."""
    from combred.experiments.cells import WENT_OUT  # scipy is slow to import
    from combred.experiments.ignition.experiment import Ignitions
    from combred.experiments.premixed.experiment import PremixedFlames

    words = []
    for kind, limit in limits.items():
        of_flames = kind in PremixedFlames.limits
        error, which = (PremixedFlames.limits if of_flames else Ignitions.limits)[kind]
        if not (measured := errors.get("flame") if of_flames else errors):
            continue
        if which not in measured.get(error, {}):
            continue  # of a card that was written by hand
        value = measured[error][which]
        if value is None or not math.isfinite(value):  # None: infinite, in JSON
            outcome = measured.get("outcome")
            flame = f"a flame {WENT_OUT}" if outcome == WENT_OUT else f"a flame fails ({outcome})"
            words.append(flame if of_flames else "a case does not ignite")
        elif value > limit:
            words.append(f"the {CRITERIA[kind]} is {percent(value)}, above {percent(limit)}")
    return "; ".join(dict.fromkeys(words))


def delays(accuracy: dict, key: str) -> str:
    """The errors of the delays of a network, alone or with the solver behind it, in words; and the
    share of the states that the solver then takes."""
    errors = accuracy[key]
    if errors == NOT_MEASURED:
        return NOT_MEASURED
    late = [errors.get("delay_error", {}).get(kind) for kind in ("median", "worst")]
    words = "a case does not ignite"
    if all(size is not None and math.isfinite(size) for size in late):  # None: infinite, in JSON
        words = f"delays off by {percent(late[0])} (median), {percent(late[1])} (worst)"
    solved = accuracy.get("left_to_solver") if key == BEHIND else None
    return words + (f", {percent(solved)} of the states {LEFT}" if solved is not None else "")


def percent(share: float) -> str:
    """A share in percent, with three digits: 0.871 -> 87.1 %."""
    return f"{100 * share:.3g} %"
