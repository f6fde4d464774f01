"""Which model that comes with combred can be stage 0 of a run."""

from dataclasses import asdict

from combred.chemistry.mechanism import Mechanism
from combred.config import Settings, resolve
from combred.surrogate.shipped import models
from combred.training.progress import outcome_settings


def starting_point(settings: Settings, mechanism: Mechanism) -> tuple[str, str]:
    """Name of the shipped model that can stand for stage 0 of these settings, or "" and why none.

    It was trained for the same mechanism, dt and mixture, has the same network, and its training
    covers the temperatures, pressures and equivalence ratios asked for. Who asks for a training or
    a seed that is not the profile's wants to train: no model stands for that.
    """
    asked = own_training(settings)
    if asked:
        return "", f"{asked} is asked for"
    reasons = []
    for name, card in models().items():
        made = card["training"]
        if made["stage"] != 0:
            continue
        reason = _difference(settings, mechanism, card, made["settings"])
        if not reason:
            return name, ""
        reasons.append(f"{name}: {reason}")
    return "", "; ".join(reasons)


def own_training(settings: Settings) -> str:
    """The first setting of the training of stage 0 that is not its profile's, as key=value."""
    wanted = _of_training(settings)
    usual = _of_training(resolve([f"profile={settings.profile}", "stage=0"]))
    return next((f"{key}={wanted[key]}" for key in wanted if wanted[key] != usual.get(key)), "")


def _of_training(settings: Settings) -> dict:
    """What decides a training of stage 0 besides states and network, by dotted key."""
    of_training = {f"training.{k}": v for k, v in outcome_settings(settings.training).items()}
    of_segments = {f"segments.{k}": v for k, v in asdict(settings.segments).items()}
    marched = of_segments if settings.training_settings.rollout_share else {}
    return {"seed": settings.seed, **of_training, **marched}


def _difference(settings: Settings, mechanism: Mechanism, card: dict, made: dict) -> str:
    """The first thing in which a shipped model differs from what is asked for, "" if none."""
    if card["mechanism_sha256"] != mechanism.sha256:
        return f"another mechanism, {card['mechanism']}"
    if card["dt"] != settings.dt:
        return f"dt = {card['dt']:g} s"
    for key, value in asdict(settings.network).items():
        if made["network"].get(key) != value:
            return f"network.{key} = {made['network'].get(key)}"
    asked, covered = asdict(settings.sampling), made["sampling"]
    asked["fuel"] = mechanism.resolve_fuel(asked["fuel"])
    for key in ("fuel", "oxidizer"):
        if asked[key] != covered[key]:
            return f"{key} {covered[key]}"
    flames = ("flame_phi", "flame_T") if asked["flames"] else ()
    if flames and not covered["flames"]:
        return "no flames"
    for key in ("T0", "p", "phi", *flames):
        least, most = min(covered[key]), max(covered[key])
        if min(asked[key]) < least or max(asked[key]) > most:
            return f"{key} from {least:g} to {most:g}"
    return ""
