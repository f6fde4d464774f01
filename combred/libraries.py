"""Compiled libraries of mechanisms and of surrogates alike, doors of `combred.native`; and all
files of a surrogate.

Takes a mechanism, a surrogate or the name of one; calls `combred.native` with the mechanism and,
where there is a network, the `Extension` that `combred.surrogates.library` makes of it. For a
mechanism nothing of `combred.surrogates` is loaded.
"""

import logging
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.config.fields import shown
from combred.names import needing_train
from combred.native import exporter
from combred.native.library import Library
from combred.native.solver.generator import TOLERANCE
from combred.native.solver.library import Integrator

if TYPE_CHECKING:
    import torch

    from combred.native.cuda import CudaLibrary
    from combred.surrogates.model.surrogate import Surrogate

    Exported = Mechanism | Surrogate | str | Path

log = logging.getLogger(__name__)
LIBRARY = "libsurrogate.so"  # of a network


def export(
    what: "Exported",
    folder: Path | str,
    card: dict | None = None,
    title: str = "",
    accept: bool = False,
) -> list[Path]:
    """Write a stiff solver of a mechanism, or a surrogate, for a flow solver: solver.cpp and
    libsolver.so, or surrogate.cpp and libsurrogate.so, and combred.h, to a folder; returns the
    paths of those written.

    what: a mechanism or the name of its file (.yaml, .yml); else a surrogate, or what
    `combred.load` takes: the name of a model that comes with combred, or a stageN.safetensors. Of a
    surrogate: card, found with a name; title: which surrogate it is, for the head of surrogate.cpp;
    accept: write it also where the errors of the network with the solver behind it exceed the
    limits of its card, as rejected.cpp and librejected.so.
    A network that is too large for C++, or has none, becomes surrogate.pt, and libsurrogate.so
    calls LibTorch, with libsolver.so behind it. Raises FileNotFoundError where there is no such
    mechanism or model, ValueError for errors above the limits unless accept, and as
    `combred.native.exporter.export`, which also says what happens without a C++ compiler.
    """
    return _writer(what, card, title, accept)[2](Path(folder))


def export_surrogate(
    what: "Surrogate | str | Path",
    folder: Path | str,
    card: dict | None = None,
    accept: bool = False,
) -> list[Path]:
    """Write all that a flow solver may take of a surrogate: surrogate.pt (TorchScript), its card
    surrogate.json, and the files of `export`; returns the paths of those written.

    what: a surrogate, or what `combred.load` takes. card: of the surrogate, as that of
    `combred.judge`; by default that of the name, or one without measured errors. surrogate.pt is
    the network alone, the library has the solver behind it. accept: write both also where the
    errors of one exceed the limits of the card; what exceeds them is then rejected.pt, rejected.cpp
    or librejected.so, and its card and head say so. Raises ValueError for such errors unless
    accept, and as `export`.
    """
    with needing_train("the export of a network"):
        from combred.experiments.accuracy import exceeding, torchscript_name
        from combred.surrogates.files.card import own_card, require_card_of
        from combred.surrogates.files.export import export_torchscript, states_in_range

    surrogate, card, title = _named(what, card, "")[1:]
    if surrogate is None:
        raise ValueError("a mechanism has no network: combred.native.export writes its solver")
    card = card or own_card(surrogate)
    require_card_of(surrogate, card)
    exceeds = exceeding(card)
    _require_accepted(exceeds, accept)
    path = Path(folder) / torchscript_name(exceeds)
    path.parent.mkdir(parents=True, exist_ok=True)
    written = export(surrogate, folder, card, title, accept)
    if path not in written:  # a library that calls LibTorch has written it
        export_torchscript(path, surrogate, card, states_in_range(surrogate))
        written = [path, path.with_suffix(".json"), *written]
    return written


def export_case(
    what: "Exported", case: Path | str, version: str = "", accept: bool = False
) -> tuple[list[Path], str]:
    """As `combred.native.openfoam.case.export_case`, of what `export` takes. version: of OpenFOAM,
    as v2312, 13, dev; by default the one that is sourced; accept: as of `export`."""
    from combred.native.openfoam.case import export_case
    from combred.native.openfoam.versions import named

    of = named(version) if version else None
    mechanism, library, write = _writer(what, accept=accept)
    return export_case(mechanism, case, library, write, of)


def _writer(
    what: "Exported", card: dict | None = None, title: str = "", accept: bool = False
) -> tuple[Mechanism, str, Callable[[Path], list[Path]]]:
    """The mechanism of what `export` takes, the name of its library, and what writes it. Raises
    ValueError for errors above the limits, with the solver behind the network, unless accept."""
    mechanism, surrogate, card, title = _named(what, card, title)
    if surrogate is None:
        return mechanism, exporter.SOLVER_LIBRARY, partial(exporter.export, mechanism)
    from combred.experiments.accuracy import BEHIND, REJECTED, exceeding

    if card is not None:
        from combred.surrogates.files.card import require_card_of

        require_card_of(surrogate, card)
    exceeds = {key: why for key, why in exceeding(card or {}).items() if key == BEHIND}
    _require_accepted(exceeds, accept)
    library = f"lib{REJECTED}.so" if exceeds else LIBRARY
    from combred.surrogates.library import generator, torchscript

    if generator.is_compiled(surrogate):
        extension = generator.extension(surrogate, card, title)
        return mechanism, library, partial(exporter.export, mechanism, extension=extension)
    return mechanism, library, partial(torchscript.export, surrogate, card=card, title=title)


def _require_accepted(exceeds: dict[str, str], accept: bool) -> None:
    """ValueError where errors exceed their limits (`exceeding`), unless accept."""
    from combred.experiments.accuracy import NAMES, REJECTED

    if exceeds and not accept:
        why = "; ".join(f"{NAMES[key]}: {shown(text, 500)}" for key, text in exceeds.items())
        raise ValueError(
            f"errors of this network exceed the limits of its card. {why}. accept=True (`combred "
            f"export --accept`) writes what exceeds them as {REJECTED}.pt, {REJECTED}.cpp and "
            f'lib{REJECTED}.so; a larger limit, as accept="ignition:50%" of combred.judge or '
            "export.accept of a run, makes it a surrogate"
        )


def compile_cuda(what: "Exported", device: "torch.device | str" = "cuda") -> "CudaLibrary":
    """The solver of a mechanism, or a surrogate, for a GPU: as `combred.native.cuda.compile_cuda`,
    of what `export` takes; ValueError for a network that is too large."""
    with needing_train("combred.native.compile_cuda"):
        from combred.native import cuda
    mechanism, surrogate, card, title = _named(what, None, "")
    if surrogate is None:
        return cuda.compile_cuda(mechanism, None, device)
    from combred.surrogates.library.generator import extension

    return cuda.compile_cuda(mechanism, extension(surrogate, card, title), device)


def load(library: Path | str, volume: bool = False, isothermal: bool = False) -> Integrator:
    """A compiled library, of a solver (libsolver.so) or of a surrogate (libsurrogate.so), as an
    `Advance`; needs no torch.

    volume: at constant volume, not at constant pressure; isothermal: at constant T, by a solver.
    Raises FileNotFoundError if there is none, ValueError as `Library`, and for an isothermal
    surrogate.
    """
    found = Library(Path(library))
    if math.isnan(found.range_of("dt_range")[0]):  # which only a network has
        return Integrator(found, TOLERANCE, volume, isothermal=isothermal)
    from combred.surrogates.library.compiled import NativeSurrogate

    surrogate = NativeSurrogate(Path(library), volume=volume)
    return surrogate.as_isothermal() if isothermal else surrogate


def names_mechanism(what: object) -> TypeGuard[str | Path]:
    """Whether what is to be exported is the name of a mechanism's file."""
    return str(what).endswith((".yaml", ".yml", ".inp", ".cti", ".xml"))  # the last are refused


def _named(
    what: "Exported", card: dict | None, title: str
) -> tuple[Mechanism, "Surrogate | None", dict | None, str]:
    """Mechanism, surrogate, card and title of what `export` takes."""
    if names_mechanism(what):
        what = load_mechanism(what)
    if isinstance(what, Mechanism):
        return what, None, None, ""
    from combred.surrogates.files.shipped import card_of, load, network_of

    if isinstance(what, str | Path):
        name, path = str(what), network_of(what)
        card, title, what = card or card_of(path), title or name, load(path)
        if card is None:
            log.warning("No run has measured the errors of %s: its card has no accuracy.", path)
    if not hasattr(what, "mechanism"):
        raise ValueError(
            f"{type(what).__name__} is neither a mechanism, a surrogate nor the name of one: "
            "combred.surrogate makes a surrogate of a torch module"
        )
    return what.mechanism, what, card, title
