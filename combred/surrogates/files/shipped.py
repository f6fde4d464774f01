"""The trained surrogates that come with combred, by name.

Takes a name or a path; gives a `Surrogate`, for which torch is needed. Each is stored as
data/models/NAME.safetensors, with its card NAME.json (see `files.card`): mechanism,
size, range, accuracy, training.
"""

import difflib
import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from combred import data
from combred.chemistry.mechanism import load_mechanism
from combred.config.fields import shown
from combred.names import needing_train
from combred.surrogates.files.card import read_card

if TYPE_CHECKING:
    from combred.surrogates.model.surrogate import Surrogate

FOLDER = data.FOLDER / "models"
STAGE = re.compile(r"stage(\d+)\.safetensors")
# What other files are, and who reads them: by their first bytes, and by their names.
KINDS = {
    b"\x7fELF": "a compiled library, which combred.native.load reads",
    b"PK": "an archive of torch, as surrogate.pt of a run: combred.export.load_torchscript reads "
    "it, and LibTorch in a flow solver",
    b"\x89HDF": "a file of states or of rollouts (HDF5), which h5py reads",
}
SUFFIXES = {
    ".yaml": "a mechanism: combred.solver takes it, and combred.load_mechanism",
    ".json": "a record; the network of a model's card lies beside it",
    ".cpp": "the source of a library: its first lines have the command that compiles it",
}


def models() -> dict[str, dict]:
    """The cards (see `files.card`) of all models that come with combred, by name, the
    largest first. Raises ValueError if one is damaged."""
    cards = {}
    for path in FOLDER.glob("*.json"):
        require_checksum(path)
        cards[path.stem] = read_card(path)
    return dict(sorted(cards.items(), key=lambda item: -item[1]["network"]["weights"]))


def load(name_or_path: str | Path) -> "Surrogate":
    """The surrogate of this name (see `models`), of a .safetensors file that the pipeline wrote, or
    of the last stage in a run's folder.

    Raises FileNotFoundError if there is none, with the most similar name; ValueError if the file is
    damaged or another kind of file, or if its mechanism differs from the one that combred or
    Cantera has under the same name; PackageMissing without torch.
    """
    path = network_of(name_or_path)
    with needing_train("combred.load"):
        from combred.surrogates.files.storage import load_surrogate, mechanism_of
    return load_surrogate(path, mechanism_of(path))


# The files of an exported surrogate, and what reads them.
EXPORTED = {
    "libsurrogate.so": "combred.native.load",
    "surrogate.pt": "combred.export.load_torchscript",
    "rejected.pt": "combred.export.load_torchscript",
}


def network_of(name_or_path: str | Path) -> Path:
    """The file that `load` takes for a name or a path. Raises as `load`."""
    path = FOLDER / f"{name_or_path}.safetensors"
    if os.path.isfile(path):  # False of a name that is too long, where Path.is_file raises
        require_checksum(path)
    else:
        path = Path(name_or_path)
        path = last_stage(path) if os.path.isdir(path) else path
        if not os.path.isfile(path):
            raise FileNotFoundError(_unknown(str(name_or_path)))
        require_network(path)
    return path


def card_of(path: Path) -> dict | None:
    """The card of the network in a file: of a shipped model, or the one that the run of a stage
    wrote beside it when it exported this stage; None without one."""
    path = path.resolve()
    if path.parent == FOLDER.resolve():
        return models().get(path.stem)
    stage = STAGE.fullmatch(path.name)
    for file in map(path.with_name, ("surrogate.json", "rejected.json")):
        card = read_card(file) if stage and file.is_file() else {}
        if card and not isinstance(card.get("training"), dict):
            raise ValueError(f"{file} is no card of a run: its training is no table")
        if stage and card and card["training"].get("stage") == int(stage[1]):
            return card
    return None


def last_stage(folder: Path) -> Path:
    """The network of the last stage in the folder of a run. Raises FileNotFoundError if it has
    none."""
    found = {path: STAGE.fullmatch(path.name) for path in folder.iterdir()}
    stages = {int(match[1]): path for path, match in found.items() if match}
    if not stages:
        for name, reader in EXPORTED.items():
            if (folder / name).is_file():
                raise FileNotFoundError(
                    f"{folder} has an exported surrogate, and no stageN.safetensors: "
                    f"{reader}({str(folder / name)!r}) reads it; a network of your own is made "
                    "again with combred.surrogate, from its torch module"
                )
        mechanism = next(iter(sorted(folder.glob("*.yaml"))), None)
        raise FileNotFoundError(
            f"{folder} has no network: they are the files stageN.safetensors in the folder of a "
            "run, as runs/drm19-default" + f". For a mechanism give {mechanism}" * bool(mechanism)
        )
    return stages[max(stages)]


def require_network(path: Path) -> None:
    """ValueError, with what it is and who reads it, of a file that is plainly no network."""
    with path.open("rb") as file:
        head = file.read(8)
    kinds = [kind for mark, kind in KINDS.items() if head.startswith(mark)]
    kinds += [kind for suffix, kind in SUFFIXES.items() if path.suffix == suffix]
    if path.suffix != ".safetensors":
        kinds.append("no network of combred")
    if kinds:
        raise ValueError(
            f"{path} is {kinds[0]}. combred.load reads networks: the names of combred.models(), "
            "stageN.safetensors, and the folder of a run"
        )


def _unknown(name: str) -> str:
    """What is said of a name that is neither a model nor a file."""
    names = list(models())
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    hint, file = f"; did you mean {near[0]}?" if near else ".", "FILE"
    for one in (name, f"{name}.yaml"):
        with suppress(FileNotFoundError, ValueError):
            file = load_mechanism(one).name
            hint = f", and {file} is a mechanism."
            break
    return (
        f"there is no model {shown(name)!r}{hint} Models are {', '.join(names)}; a path is that of "
        "a stageN.safetensors, or of the folder of a run. For another mechanism "
        f"combred.solver({file!r}) needs no network, and `combred run mechanism={file} stage=1` "
        "trains one"
    )


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
