"""Trained surrogates that come with combred, by name.

Takes a name or a path; gives a `Surrogate`. Each lies in data/models as NAME.safetensors, with its
card, NAME.json: mechanism, size, range, accuracy and how it was made.
"""

import difflib
from pathlib import Path

from combred import data
from combred.chemistry.mechanism import load_mechanism
from combred.records import read_json
from combred.surrogate.storage import load_surrogate, mechanism_of
from combred.surrogate.surrogate import Surrogate

FOLDER = data.FOLDER / "models"


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
