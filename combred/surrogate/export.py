"""A surrogate for a CFD code: one TorchScript file, and the card that describes it.

Takes a `Surrogate`; gives `surrogate.pt`, which needs nothing but LibTorch: weights, transforms,
thermodynamics and closure are inside, and the card.
"""

import io
import json
import platform
from pathlib import Path

import numpy as np
import torch
from torch import nn

from combred.chemistry.mechanism import Mechanism
from combred.records import strict, write_bytes, write_json
from combred.surrogate.surrogate import Surrogate


def make_card(surrogate: Surrogate, mechanism: Mechanism, accuracy: dict, training: dict) -> dict:
    """What a user of the exported file has to know, as plain JSON.

    `accuracy`: the 0D errors measured, with what they were measured on; `training`: how the network
    was made (states, tolerances, stages).
    """
    import combred

    transform = surrogate.transform
    low, high = transform.low.numpy().copy(), transform.high.numpy().copy()
    inverse = transform.boxcox.inverse
    Y_low, Y_high = inverse(transform.low[2:]), inverse(transform.high[2:])
    # What the floor stands for is none at all.
    Y_low = torch.where(Y_low <= 1.001 * transform.boxcox.floor, 0.0, Y_low).tolist()
    Y_high = torch.where(Y_high <= 1.001 * transform.boxcox.floor, 0.0, Y_high).tolist()
    unknown = "the state is none" if surrogate.corrects_rates else "not in_training_range(state)"
    names = mechanism.species_names
    Y_range = {name: [a, b] for name, a, b in zip(names, Y_low, Y_high, strict=True)}
    return {
        "format": 1,
        "what": "state dt later of an adiabatic constant-pressure reactor",
        "mechanism": mechanism.name,
        "mechanism_sha256": mechanism.sha256,
        "species": list(mechanism.species_names),
        "molecular_weights": mechanism.molecular_weights.tolist(),
        "input": ["T", "p", *(f"Y_{name}" for name in mechanism.species_names)],
        "units": {
            "T": "K",
            "p": "Pa",
            "Y": "1",
            "dt": "s",
            "source": "1/s",
            "molecular_weights": "kg/kmol",
        },
        "dtype": "float64",
        "dt": surrogate.dt,
        "methods": {
            "forward(state)": "(n, 2 + n_species) [T, p, Y] -> the same, dt later",
            "source(state)": "(n, n_species) mean dY/dt over dt",
            "trust(state)": "(n,) bool: closure_error(state) <= 1",
            "closure_error(state)": "(n,) what the closure (elements, enthalpy) moves of the network's "
            f"answer: the larger of Y over {surrogate.SHARE:g} of the step's change of Y + "
            f"{surrogate.FLOOR_Y:g} and T over {surrogate.SHARE:g} of its change + "
            f"{surrogate.FLOOR_T:g} K; infinity where {unknown}",
            "next_state_and_error(state)": "forward and doubt, at the cost of forward",
            "in_training_range(state)": "(n,) bool: the state lies where the training data were",
        },
        "range": {
            "T": [float(low[0]), float(high[0])],
            "p": [float(low[1]), float(high[1])],
            "Y": Y_range,
        },
        "network": {
            "widths": surrogate.network.widths,
            "weights": surrogate.network.n_weights,
            "kinetics": surrogate.transform.evaluations,
        },
        "training": training,
        "accuracy": accuracy,
        "versions": {
            "combred": combred.__version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
    }


def export_torchscript(path: Path, surrogate: Surrogate, card: dict, states: np.ndarray) -> dict:
    """Write surrogate.pt and, beside it, its card; check that it agrees with the surrogate.

    `states` (n, 2 + n_species): states to check on, and for batches of 0, 1 and n. Returns the
    largest relative difference between the eager and the loaded model's outputs, and the file's
    size in bytes. Raises RuntimeError where they differ by more than 1e-6.
    """
    path, card = Path(path), strict(card)
    surrogate = surrogate.cpu().eval().requires_grad_(False)
    buffer = io.BytesIO()  # so that a full disk is an OSError, which is told
    torch.jit.save(
        torch.jit.script(surrogate), buffer, _extra_files={"card.json": json.dumps(card)}
    )
    buffer.seek(0)
    loaded, stored = load_torchscript(buffer)
    difference = largest_difference(surrogate, loaded, torch.as_tensor(states, dtype=torch.float64))
    if not difference <= 1e-6 or stored != card:
        raise RuntimeError(f"the exported {path} does not agree with the surrogate: {difference}")
    write_bytes(path, buffer.getvalue())
    write_json(path.with_suffix(".json"), card)
    return {"largest_difference": difference, "bytes": path.stat().st_size}


def largest_difference(one: nn.Module, other: nn.Module, state: torch.Tensor) -> float:
    """Largest relative difference between two surrogates' forward, source and trust on batches of
    0, 1 and all of `state`; NaN where an answer is not finite. Trust is compared where the doubt is
    not within a thousandth of its limit, at which rounding decides."""
    differences = [torch.zeros(())]
    for n in {0, 1, len(state)}:
        clear = (one.closure_error(state[:n]) - 1.0).abs() > 1e-3
        unlike = one.trust(state[:n]) != other.trust(state[:n])
        differences.append((unlike & clear).any().float())
        for call in ("forward", "source"):
            a = getattr(one, call)(state[:n]).double()
            b = getattr(other, call)(state[:n]).double()
            if n:
                scale = a.abs().amax(0).clamp(min=1e-300)
                differences.append(((a - b).abs() / scale).max().float())
    return float(torch.stack(differences).max())


def load_torchscript(file: Path | io.BytesIO) -> tuple[torch.jit.ScriptModule, dict]:
    """An exported surrogate and its card, as a CFD code would load them."""
    extra = {"card.json": ""}
    source = str(file) if isinstance(file, Path) else file
    module = torch.jit.load(source, map_location="cpu", _extra_files=extra)
    return module.eval(), json.loads(extra["card.json"])
