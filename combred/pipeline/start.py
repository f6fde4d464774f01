"""The shipped model, if there is one, that can be stage 0 of a run.

Takes settings and the cards of the shipped models; gives a name, or the reasons why none fits.
"""

from dataclasses import asdict

from combred.chemistry.fuel import resolve_fuel
from combred.chemistry.mechanism import Mechanism
from combred.config.command import resolve
from combred.config.settings import Settings
from combred.surrogates.files.shipped import models


def starting_point(settings: Settings, mechanism: Mechanism) -> tuple[str, str]:
    """Name of the shipped model that can be stage 0 of a run with these settings, and ""; or "",
    and why there is none.

    A model fits if it was trained for the same mechanism, mixture, kind of states and network, in a
    range that covers the temperatures, pressures, equivalence ratios and dt of the settings. No
    model fits settings whose training or seed differ from the profile's: they ask for a training.
    """
    if settings.start == "scratch":
        return "", "start=scratch"
    usual, reasons = resolve([f"profile={settings.profile}", "stage=0"]), []
    if settings.seed != usual.seed:
        return "", f"seed={settings.seed} is asked for"
    for key, value in settings.training.outcome.items():
        if value != usual.training.outcome[key]:
            return "", f"training.{key}={value} is asked for"
    for name, card in models().items():
        if card["training"]["stage"] != 0:
            continue
        reason = _difference(settings, mechanism, card)
        if not reason:
            return name, ""
        reasons.append(f"{name}: {reason}")
    return "", "; ".join(reasons)


def _difference(settings: Settings, mechanism: Mechanism, card: dict) -> str:
    """The first property of a shipped model that does not fit the settings, "" if there is none."""
    if card["mechanism_sha256"] != mechanism.sha256:
        return f"another mechanism, {card['mechanism']}"
    made = card["training"]
    for key, value in asdict(settings.network).items():
        if made["network"].get(key) != value:
            return f"network.{key} = {made['network'].get(key)}"
    asked, covered = asdict(settings.sampling), made["sampling"]
    asked["fuel"] = resolve_fuel(mechanism, asked["fuel"])
    for key in ("fuel", "oxidizer", "sampler"):
        if asked[key] != covered[key]:
            return f"{key} {covered[key]}"
    for key in ("T0", "p", "phi", "dt"):
        least, most = min(covered[key]), max(covered[key])
        if min(asked[key]) < least or max(asked[key]) > most:
            return f"{key} from {least:g} to {most:g}"
    return ""
