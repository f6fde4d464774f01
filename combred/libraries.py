"""Compiled libraries of mechanisms and of surrogates alike, doors of `combred.native`; and all
files of a surrogate.

Takes a mechanism, a surrogate or the name of one; calls `combred.native` with the mechanism and,
where there is a network, the `Extension` that `combred.surrogates.library` makes of it. For a
mechanism nothing of `combred.surrogates` is loaded.
"""

import math
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.names import needing_train
from combred.native import exporter
from combred.native.extension import Extension
from combred.native.library import Library
from combred.native.solver.generator import TOLERANCE
from combred.native.solver.library import Integrator

if TYPE_CHECKING:
    import torch

    from combred.native.cuda import CudaLibrary
    from combred.surrogates.model.surrogate import Surrogate

    Exported = Mechanism | Surrogate | str | Path

LIBRARY = "libsurrogate.so"  # of a network


def export(
    what: "Exported", folder: Path | str, card: dict | None = None, title: str = ""
) -> list[Path]:
    """Write a stiff solver of a mechanism, or a surrogate, for a flow solver: solver.cpp and
    libsolver.so, or surrogate.cpp and libsurrogate.so, and combred.h, to a folder; returns the
    paths of those written.

    what: a mechanism or the name of its file (.yaml, .yml); else a surrogate, or what
    `combred.load` takes: the name of a model that comes with combred, or a stageN.safetensors. Of a
    surrogate: card, found with a name; title: which surrogate it is, for the head of surrogate.cpp.
    Raises ValueError for a network that is too large, FileNotFoundError where there is no such
    mechanism or model, and as `combred.native.exporter.export`, which also says what happens
    without a C++ compiler.
    """
    mechanism, extension = parts(what, card, title)
    return exporter.export(mechanism, folder, extension)


def export_surrogate(
    what: "Surrogate | str | Path", folder: Path | str, card: dict | None = None
) -> tuple[list[Path], str]:
    """Write all that a flow solver may take of a surrogate: surrogate.pt (TorchScript), its card
    surrogate.json, and the files of `export` where the network has a form in C++. Returns the paths
    of those written, and why there is no C++, "" where there is.

    what: a surrogate, or what `combred.load` takes. card: of the surrogate, as that of
    `combred.judge`; by default that of the name, or one without measured errors. A card that says
    `rejected` in its accuracy gives rejected.pt and its card alone. Raises as `export`.
    """
    with needing_train("the export of a network"):
        from combred.surrogates.files import export as torchscript
        from combred.surrogates.files.card import own_card
        from combred.surrogates.library.generator import extension
    from combred.surrogates.files.shipped import load, models

    surrogate, title = (load(what), str(what)) if isinstance(what, str | Path) else (what, "")
    card = card or models().get(title) or own_card(surrogate)
    rejected = card["accuracy"].get("rejected", "")
    path = Path(folder) / ("rejected.pt" if rejected else "surrogate.pt")
    path.parent.mkdir(parents=True, exist_ok=True)
    states = torchscript.states_in_range(surrogate)
    torchscript.export_torchscript(path, surrogate, card, states)
    written, why = [path, path.with_suffix(".json")], f"rejected: {rejected}" if rejected else ""
    if not rejected:
        try:
            added = extension(surrogate, card, title)
        except ValueError as error:
            return written, str(error)
        written += exporter.export(surrogate.mechanism, folder, added)
    return written, why


def export_case(what: "Exported", case: Path | str, version: str = "") -> tuple[list[Path], str]:
    """As `combred.native.openfoam.case.export_case`, of what `export` takes. version: of OpenFOAM,
    as v2312, 13, dev; by default the one that is sourced."""
    from combred.native.openfoam.case import export_case
    from combred.native.openfoam.versions import named

    of = named(version) if version else None
    mechanism, extension = parts(what)
    return export_case(mechanism, case, extension, of)


def compile_cuda(what: "Exported", device: "torch.device | str" = "cuda") -> "CudaLibrary":
    """The solver of a mechanism, or a surrogate, for a GPU: as `combred.native.cuda.compile_cuda`,
    of what `export` takes; ValueError for a network that is too large."""
    with needing_train("combred.native.compile_cuda"):
        from combred.native import cuda
    return cuda.compile_cuda(*parts(what), device)


def load(library: Path | str, volume: bool = False) -> Integrator:
    """A compiled library, of a solver (libsolver.so) or of a surrogate (libsurrogate.so), as an
    `Advance`; needs no torch.

    volume: at constant volume, not at constant pressure. Raises FileNotFoundError if there is none,
    ValueError as `Library`.
    """
    found = Library(Path(library))
    if math.isnan(found.range_of("dt_range")[0]):  # which only a network has
        return Integrator(found, TOLERANCE, volume)
    from combred.surrogates.library.compiled import NativeSurrogate

    return NativeSurrogate(Path(library), volume=volume)


def names_mechanism(what: object) -> TypeGuard[str | Path]:
    """Whether what is to be exported is the name of a mechanism's file."""
    return str(what).endswith((".yaml", ".yml", ".inp", ".cti", ".xml"))  # the last are refused


def parts(
    what: "Exported", card: dict | None = None, title: str = ""
) -> tuple[Mechanism, Extension | None]:
    """The mechanism of what `export` takes, and the extension of its network, if it is one."""
    if names_mechanism(what):
        what = load_mechanism(what)
    if isinstance(what, Mechanism):
        return what, None
    from combred.surrogates.files.shipped import load, models

    with needing_train("the export of a network"):
        from combred.surrogates.library.generator import extension
    if isinstance(what, str | Path):
        name, what = str(what), load(what)
        card, title = card or models().get(name), title or name
    return what.mechanism, extension(what, card, title)
