"""Export of a surrogate for a CFD code: one TorchScript file, and the card that describes it.

Takes a `Surrogate` and its card; gives `surrogate.pt`, which needs only LibTorch. It contains
weights, transforms, thermodynamics, closure and the card, and no solver: it is the network alone.
"""

import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import torch

from combred.config.fields import one_line, require, shown
from combred.experiments.accuracy import ALONE, card_of_file
from combred.files.records import parse, strict, write_bytes, write_json
from combred.files.torch_archive import (
    reaching_out,
    read_parts,
    require_own_parts,
    written_anew,
)
from combred.surrogates.files.card import own_card, require_card, require_card_of, up_to_date
from combred.surrogates.files.storage import content_digest
from combred.surrogates.model.surrogate import Surrogate

ARCHIVE = b"PK"  # the first bytes of a zip file
CARD = "/extra/card.json"  # its part of the archive
METHODS = "forward", "next_state_and_error", "trust", "source"  # of every surrogate
TAKES = (
    "combred.export.load_torchscript reads the surrogate.pt of a run; combred.load reads "
    "stageN.safetensors, and combred.native.load a library"
)


def export_torchscript(path: Path, surrogate: Surrogate, card: dict, states: np.ndarray) -> dict:
    """Write surrogate.pt and, beside it, its card (`files.card`), which tells the errors of the
    network alone first; compare the written model with the surrogate.

    `states` (n, 2 + n_species): the states for the comparison, in batches of 0, 1 and n, over the
    geometric mean of the shortest and the longest dt of the training. Returns
    the `largest_difference` of the two, and the `bytes` of the file. Raises RuntimeError if they
    differ by more than 1e-6, ValueError for the card of another surrogate; nothing is then written.
    """
    require_card_of(surrogate, card)
    path = Path(path)
    card = strict(card_of_file(up_to_date(own_card(surrogate) | card), ALONE))
    surrogate = surrogate.cpu().eval().requires_grad_(False)
    vars(surrogate)["digest"] = content_digest(surrogate, surrogate.mechanism)  # in the file, too
    buffer = io.BytesIO()  # so that a full disk raises OSError, which is reported
    torch.jit.save(
        torch.jit.script(surrogate), buffer, _extra_files={"card.json": json.dumps(card)}
    )
    buffer.seek(0)
    loaded, stored = load_torchscript(buffer)
    rows = torch.as_tensor(states, dtype=torch.float64)
    # The middle of the range.
    dt = torch.full((len(rows),), math.sqrt(math.prod(surrogate.dt_range)), dtype=torch.float64)
    difference = largest_difference(surrogate, loaded, rows, dt)
    if not difference <= 1e-6 or stored != card:
        raise RuntimeError(f"the exported {path} does not agree with the surrogate: {difference}")
    write_bytes(path, buffer.getvalue())
    write_json(path.with_suffix(".json"), card)
    return {"largest_difference": difference, "bytes": path.stat().st_size}


def states_in_range(surrogate: Surrogate, n: int = 256) -> np.ndarray:
    """States [T, p, Y] (n, 2 + n_species) whose variables are drawn uniformly in the range of the
    training, for `export_torchscript` where no others are at hand."""
    t, generator = surrogate.transform, torch.Generator().manual_seed(0)
    share = torch.rand(n, surrogate.n, generator=generator, dtype=torch.float64)
    v = t.low + share * (t.high - t.low)
    Y = t.boxcox.inverse(v[:, 2:])
    gas = torch.stack([v[:, 0], t.pressure(v[:, 1])], dim=1)
    return torch.cat([gas, Y / Y.sum(dim=1, keepdim=True)], dim=1).numpy()


def largest_difference(one: Surrogate, other: Any, state: torch.Tensor, dt: torch.Tensor) -> float:
    """Largest relative difference between a surrogate and a loaded one in `forward` and `source`,
    on batches of 0, 1 and all of `state` (n, 2 + n_species) with the time steps dt (n,) [s]; 1 if
    `trust` differs, NaN if a result is not finite. Trust is not compared where the error estimate
    is within 1 % of its limit, 1, since rounding decides there."""
    differences = [torch.zeros(())]
    for n in {0, 1, len(state)}:
        rows = state[:n], dt[:n]
        clear = (one.next_state_and_error(*rows)[1] - 1.0).abs() > 0.01
        unlike = one.trust(*rows) != other.trust(*rows)
        differences.append((unlike & clear).any().float())
        for call in ("forward", "source"):
            a = getattr(one, call)(*rows).double()
            b = getattr(other, call)(*rows).double()
            if n:
                scale = a.abs().amax(0).clamp(min=1e-300)
                differences.append(((a - b).abs() / scale).max().float())
    return float(torch.stack(differences).max())


def load_torchscript(file: Path | str | io.BytesIO) -> tuple[torch.jit.ScriptModule, dict]:
    """An exported surrogate and the card inside its file. Raises FileNotFoundError if there is no
    file, ValueError if it is damaged, for torch.jit.load alone computes with wrong weights, or if
    it is another kind of file, has code that reaches files or other processes, or a card that is
    not that of its module.

    torch gets an archive that is written anew from the parts that were checked, and no other byte
    of the file.
    """
    name, source = "the file", file
    if not isinstance(source, io.BytesIO):
        name = str(file)
        if not Path(name).is_file():  # reading a pipe may never end
            raise FileNotFoundError(f"there is no file {name}. {TAKES}")
        source = io.BytesIO(Path(name).read_bytes())
    if not source.getvalue().startswith(ARCHIVE):
        raise ValueError(f"{name} is no archive of torch. {TAKES}")
    try:
        parts = read_parts(source)
    except ValueError as error:
        raise ValueError(
            f"{name} is damaged ({error}): copy it again, or export it again with `python -m "
            "combred.pipeline only=export`"
        ) from error
    cards = [content for part, content in parts.items() if part.endswith(CARD)]
    if len(cards) != 1:
        raise ValueError(f"{name} is an archive of torch without surrogate. {TAKES}")
    if operation := reaching_out(parts):
        raise ValueError(
            f"{name} has the operation {shown(operation)}, which reaches beyond the network: this "
            "is no surrogate of combred, and its code is not run"
        )
    try:
        card = require_card(parse(cards[0]))
        require_own_parts(parts)
        module = torch.jit.load(written_anew(parts), map_location="cpu").eval()
        _require_module(module, card)
    except (RuntimeError, ValueError) as error:
        raise ValueError(
            f"{name} is no surrogate of combred: {shown(one_line(error), 200)}. {TAKES}"
        ) from error
    return module, card


def _require_module(module: torch.jit.ScriptModule, card: dict) -> None:
    """ValueError unless a module has the methods and the species of its card, and maps a state and
    a time step to a state."""
    for method in (*METHODS, *(text.partition("(")[0] for text in card["methods"])):
        require(hasattr(module, method), f"its module has no method {shown(method)}")
    forward: Any = module.forward
    schema = forward.schema
    types = [str(argument.type) for argument in (*schema.arguments[1:], *schema.returns)]
    require(
        types == ["Tensor"] * 3,
        f"its method forward has the types {' '.join(types)}, and takes the tensors state and dt "
        "and gives a tensor",
    )
    species = getattr(module, "species", None)
    require(species == card["species"], "its card names other species than its module")
