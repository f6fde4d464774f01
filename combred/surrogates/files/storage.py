"""Surrogates on disk, as safetensors.

`save_surrogate` writes the buffers, the network, and the numbers needed to build them again;
`load_surrogate` reads them and gives a `Surrogate`.
"""

import contextlib
import itertools
import json
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialize

from combred.chemistry.mechanism import Mechanism, load_mechanism, mechanism_of_text
from combred.config.fields import require, shown
from combred.files.records import parse, write_bytes
from combred.files.trace import digest_of_tensors
from combred.surrogates.files.metadata import CARRIED, wrong_with
from combred.surrogates.model.correction import CorrectionTransform, make_transform
from combred.surrogates.model.forms import make_surrogate
from combred.surrogates.model.network import Network
from combred.surrogates.model.surrogate import Surrogate

# Tensors that the mechanism has, too; and the one that may be infinite.
OF_MECHANISM = ("closure.", "transform.qss.")
LIMIT = "max_mahalanobis"
SPREADS = "transform.std", "transform.scale", "transform.qss_std"


def save_surrogate(
    path: Path, surrogate: Surrogate, mechanism: Mechanism, inputs: dict | None = None
) -> None:
    """Write a surrogate as safetensors, whole or not at all, with a digest of its content.

    The mechanism's file travels with it where its name alone does not find it.

    `inputs`: what it was made from, as plain JSON (`made_from` reads it). Raises ValueError for a
    network that is no `Network`, which its widths do not describe.
    """
    require(
        isinstance(surrogate.network, Network),
        f"a network of {type(surrogate.network).__name__} has no file of this format: export it to "
        "TorchScript (combred.export_surrogate)",
    )
    identity = _identity(surrogate, mechanism)
    tensors = _tensors(surrogate)
    identity |= {"inputs": inputs} | _carried(mechanism)
    identity |= {"digest": digest_of(identity, tensors)}
    write_bytes(Path(path), serialize(tensors, metadata={"combred": json.dumps(identity)}))


def _carried(mechanism: Mechanism) -> dict[str, dict[str, str]]:
    """A mechanism's file and phase as metadata; nothing where its name alone finds it."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        if load_mechanism(mechanism.name).sha256 == mechanism.sha256:
            return {}
    return {CARRIED: {"text": mechanism.text, "phase": mechanism.phase}}


def content_digest(surrogate: Surrogate, mechanism: Mechanism) -> str:
    """SHA-256 of what a surrogate computes with: its network, transforms and mechanism, whatever
    file they come from. Exported files carry it."""
    return digest_of(_identity(surrogate, mechanism), _tensors(surrogate))


def _identity(surrogate: Surrogate, mechanism: Mechanism) -> dict:
    """What a surrogate has to be built from, besides its tensors."""
    boxcox = surrogate.transform.boxcox
    identity = {
        "mechanism": mechanism.name,
        "mechanism_sha256": mechanism.sha256,
        "species": list(mechanism.species_names),
        "widths": surrogate.network.widths,
        "boxcox": boxcox.lam,
        "floor": boxcox.floor,
        "power": surrogate.transform.power,
        "kinetics": surrogate.kinetics,
    }
    if isinstance(surrogate.transform, CorrectionTransform):
        identity |= _quasi_steady(surrogate.transform)
    return identity


def _quasi_steady(transform: CorrectionTransform) -> dict:
    """What the quasi-steady steps of a transform depend on, besides the mechanism."""
    qss = transform.qss
    return {
        "steps_with_predicted_rates": qss.shares,
        "alpha": [*qss.above, *qss.below],
        "absent": qss.ABSENT,
    }


def _tensors(surrogate: Surrogate) -> dict[str, torch.Tensor]:
    return {k: v.detach().cpu().contiguous() for k, v in surrogate.state_dict().items()}


def digest_of(identity: dict, tensors: dict[str, torch.Tensor]) -> str:
    """SHA-256 of the metadata but for the digest itself, and of the tensors."""
    known = {key: value for key, value in identity.items() if key != "digest"}
    return digest_of_tensors(tensors, json.dumps(known, sort_keys=True))


def load_surrogate(path: Path, mechanism: Mechanism) -> Surrogate:
    """Read a surrogate that `save_surrogate` wrote for this mechanism.

    Raises FileNotFoundError if there is no file, ValueError if it is damaged or belongs to another
    mechanism.
    """
    path = Path(path)
    identity, tensors = _read(path)
    if identity["mechanism_sha256"] != mechanism.sha256:
        raise ValueError(
            f"{path} was trained for {identity['mechanism']} "
            f"(sha256 {identity['mechanism_sha256'][:12]}), but the mechanism asked for is "
            f"{mechanism.name} ({mechanism.sha256[:12]}). "
            + mechanism.mend_mismatch(identity["mechanism"])
        )
    species = list(mechanism.species_names)
    if identity.get("species", species) != species:
        raise ValueError(
            f"{path} names other species than {mechanism.name}, for which it was trained: it is "
            "damaged. Take the file again from where it comes"
        )
    transform = make_transform(
        mechanism,
        identity["boxcox"],
        identity["floor"],
        identity["power"],
        identity.get("kinetics", False),
    )
    if isinstance(transform, CorrectionTransform) and any(
        identity.get(key) != value for key, value in _quasi_steady(transform).items()
    ):
        raise ValueError(
            f"{path} is a network of another version of combred, which corrects other quasi-steady "
            "steps than this one: its answers would be wrong. Take one of combred.models(), or "
            "train one."
        )
    try:
        _require_widths(tensors, identity["widths"])
        surrogate = make_surrogate(mechanism, transform, Network(identity["widths"]))
        own = {name: tensor.clone() for name, tensor in surrogate.state_dict().items()}
        surrogate.load_state_dict(tensors)
        _require_values(tensors, own, mechanism)
    except (RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"{path} is not a complete network of combred: its tensors are not those of a network "
            f"of widths {shown(identity['widths'])} ({shown(reason, 300)})"
        ) from error
    return surrogate.eval()


def _require_widths(tensors: dict[str, torch.Tensor], widths: list[int]) -> None:
    """ValueError where the weights have other widths: a network of these may need any memory."""
    for i, (m, n) in enumerate(itertools.pairwise(widths)):
        weight = tensors.get(f"network.layers.{i}.weight")
        require(
            weight is not None and weight.shape == (n, m),
            f"layer {i} has no weights of shape [{n}, {m}]",
        )


def _require_values(
    tensors: dict[str, torch.Tensor], own: dict[str, torch.Tensor], mechanism: Mechanism
) -> None:
    """ValueError where numbers are not finite, or where those of the mechanism, as the surrogate's
    `own` are, differ from it."""
    for name, tensor in tensors.items():
        require(torch.can_cast(tensor.dtype, own[name].dtype), f"{name} is {tensor.dtype}")
        if name.startswith(OF_MECHANISM):
            # Another machine may have rounded products otherwise.
            same = torch.allclose(tensor.double(), own[name].double(), rtol=1e-9, atol=0.0)
            require(same, f"{name} is not that of {mechanism.name}")
        bounded = tensor != tensor if name == LIMIT else ~tensor.isfinite()
        require(not bounded.any(), f"{name} has values that are not finite")
        if name in SPREADS:
            require(bool((tensor > 0.0).all()), f"{name} has values that are not above 0")


def made_from(path: Path) -> dict | None:
    """What a surrogate's file was made from, None where it does not say. Raises as
    `load_surrogate`, which also looks for damage: here the tensors are not read."""
    return _open(Path(path), tensors=False)[0].get("inputs")


def mechanism_of(path: Path) -> Mechanism:
    """The mechanism that a surrogate's file was made for: that of its name, or the one that it
    carries. Raises as `load_surrogate` and `load_mechanism`."""
    identity = _open(Path(path), tensors=False)[0]
    carried = identity.get(CARRIED)
    if carried is None:
        return load_mechanism(identity["mechanism"])
    identity = _read(Path(path))[0]  # which is not damaged
    name = Path(identity["mechanism"]).name
    return mechanism_of_text(carried["text"], name, carried["phase"])


def _read(path: Path) -> tuple[dict, dict[str, torch.Tensor]]:
    """Metadata and tensors of a surrogate's file, which is not damaged."""
    identity, tensors = _open(path)
    if identity.get("digest") != digest_of(identity, tensors):
        raise ValueError(
            f"{path} is damaged: its content differs from what was written. If it is of a "
            "run, move it away, and the same command makes it again."
        )
    return identity, tensors


def _open(path: Path, tensors: bool = True) -> tuple[dict, dict[str, torch.Tensor]]:
    """Metadata and, where asked for, tensors of a surrogate's file, as they are stored."""
    if not path.is_file():  # reading a pipe may never end
        raise FileNotFoundError(
            f"there is no network at {path}: give the file of a network, or train one."
        )
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            require("combred" in metadata, "it has no metadata of combred")
            identity = parse(metadata["combred"])
            require(not (wrong := wrong_with(identity)), wrong)
            found = {name: file.get_tensor(name) for name in file.keys() if tensors}
    except (SafetensorError, OSError, RecursionError, RuntimeError, ValueError) as error:
        raise ValueError(
            f"{path} is not a complete network of combred ({shown(error, 200)}). Networks are the "
            "files stageN.safetensors of a run; if this is one, it is damaged: move it away, and "
            "the same command makes it again."
        ) from error
    return identity, found
