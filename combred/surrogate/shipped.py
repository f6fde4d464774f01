"""The trained surrogates that come with combred, by name.

Takes a name or a path; gives a `Surrogate`. Each is stored as data/models/NAME.safetensors, with
its card NAME.json (see `combred.surrogate.card`): mechanism, size, range, accuracy, training.
"""

import difflib
import hashlib
from pathlib import Path

from combred import data
from combred.surrogate.card import read_card
from combred.surrogate.storage import load_surrogate, mechanism_of
from combred.surrogate.surrogate import Surrogate

FOLDER = data.FOLDER / "models"


def models() -> dict[str, dict]:
    """The cards (see `combred.surrogate.card`) of all models that come with combred, by name, the
    largest first. Raises ValueError if one is damaged."""
    cards = {}
    for path in FOLDER.glob("*.json"):
        require_checksum(path)
        cards[path.stem] = read_card(path)
    return dict(sorted(cards.items(), key=lambda item: -item[1]["network"]["weights"]))


def load(name_or_path: str | Path) -> Surrogate:
    """The surrogate of this name (see `models`), or of a .safetensors file that the pipeline wrote.

    Raises FileNotFoundError if there is none, with the most similar name, and ValueError if the
    file is damaged, or if its mechanism differs from the one that combred or Cantera has under the
    same name.
    """
    path = FOLDER / f"{name_or_path}.safetensors"
    if path.is_file():
        require_checksum(path)
    else:
        path = Path(name_or_path)
    if not path.is_file():
        names = list(models())
        near = difflib.get_close_matches(str(name_or_path), names, n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]}?" if near else "."
        raise FileNotFoundError(
            f"there is no model {str(name_or_path)!r}{hint} Models are {', '.join(names)}, or "
            "give the path of a stageN.safetensors"
        )
    return load_surrogate(path, mechanism_of(path))


def require_checksum(path: Path) -> None:
    """ValueError if a model or card that comes with combred differs from its line in
    SHA256SUMS."""
    sums = FOLDER.parent / "SHA256SUMS"
    lines = sums.read_text().splitlines() if sums.is_file() else []
    known = {name: found for found, name in (line.split(maxsplit=1) for line in lines)}
    name = str(path.relative_to(FOLDER.parent))
    if name in known and known[name] != hashlib.sha256(path.read_bytes()).hexdigest():
        raise ValueError(
            f"{path} is damaged: it differs from what came with combred. Install combred again"
        )
