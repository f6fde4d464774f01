"""Trained surrogates that come with combred, by name.

Takes a name or a path; gives a `Surrogate`. Each lies in combred/data/models as NAME.safetensors,
with its card, NAME.json: mechanism, size, range, accuracy and how it was made.
"""

import difflib
from dataclasses import asdict
from pathlib import Path

from combred.config import Settings, resolve
from combred.export import load_surrogate, mechanism_of
from combred.mechanism import Mechanism, load_mechanism
from combred.network import Surrogate
from combred.progress import outcome_settings
from combred.records import read_json

FOLDER = Path(__file__).parent / "data" / "models"


def models() -> dict[str, dict]:
    """The cards of all models that come with combred, by name, the largest first."""
    cards = {path.stem: read_json(path) for path in FOLDER.glob("*.json")}
    return dict(sorted(cards.items(), key=lambda item: -item[1]["network"]["weights"]))


def load(name_or_path: str | Path) -> Surrogate:
    """The surrogate of a name (see `models`) or of a .safetensors file that the pipeline wrote.

    Raises FileNotFoundError where there is none, naming the nearest, and ValueError where the file
    is damaged, or its mechanism is not the one that combred or Cantera has under that name.
    """
    path = FOLDER / f"{name_or_path}.safetensors"
    if not path.is_file():
        path = Path(name_or_path)
    if not path.is_file():
        names = list(models())
        near = difflib.get_close_matches(str(name_or_path), names, n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise FileNotFoundError(
            f"there is no model {str(name_or_path)!r}{hint} Models are {', '.join(names)}, or "
            "give the path of a stageN.safetensors"
        )
    return load_surrogate(path, load_mechanism(mechanism_of(path)))


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
    of_windows = {f"windows.{k}": v for k, v in asdict(settings.windows).items()}
    marched = of_windows if settings.training.rollout_steps else {}
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
