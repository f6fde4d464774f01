"""A library for a flow solver: one C++ file, its C interface, and code for every CPU.

Takes a mechanism, or a `Surrogate` or the name of one that comes with combred; writes solver.cpp or
surrogate.cpp, combred.h and, where there is a compiler, libsolver.so or libsurrogate.so.
"""

import itertools
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.files.records import write_files
from combred.names import needing_train
from combred.native.builder import build_portable
from combred.native.compilers import CompilerError
from combred.native.single_file import single_file
from combred.native.solver.generator import SOURCE
from combred.native.solver.generator import generate as generate_solver

if TYPE_CHECKING:
    from combred.surrogate.surrogate import Surrogate

log = logging.getLogger(__name__)
LIBRARY, SOLVER_LIBRARY = "libsurrogate.so", "libsolver.so"


def export_solver(
    mechanism: Mechanism | str | Path, folder: Path | str, phase: str = ""
) -> list[Path]:
    """Write solver.cpp, combred.h and libsolver.so, the stiff solver of a mechanism, to a folder;
    returns the paths of those written.

    mechanism: a loaded one, or what `load_mechanism` takes, with `phase`. The files take the place
    of those of before when all are made. Without a C++ compiler libsolver.so is not written, the
    one of before is renamed to libsolver.so.old (.old1, ... where there is one), and the log tells
    how to make it. Raises ValueError, with the names of the reactions, for unknown rates.
    """
    if not isinstance(mechanism, Mechanism):
        mechanism = load_mechanism(mechanism, phase)
    text = single_file(generate_solver(mechanism), f"the solver of {mechanism.name}", "solver")
    return _write(Path(folder), "solver.cpp", text, SOLVER_LIBRARY)


def export(
    what: "Mechanism | Surrogate | str | Path",
    folder: Path | str,
    card: dict | None = None,
    title: str = "",
) -> list[Path]:
    """Write a stiff solver of a mechanism, or a surrogate, for a flow solver: solver.cpp and
    libsolver.so, or surrogate.cpp and libsurrogate.so, and combred.h, to a folder; returns the
    paths of those written.

    what: a mechanism or the name of its file (.yaml, .yml); else a surrogate, or what
    `combred.load` takes: the name of a model that comes with combred, or a stageN.safetensors. Of a
    surrogate: card, found with a name; title: which surrogate it is, for the head of surrogate.cpp.
    Without a C++ compiler no library is written, as of `export_solver`. Raises
    ValueError for a network that is too large and for rates that are not known, FileNotFoundError
    where there is no such mechanism or model.
    """
    if isinstance(what, Mechanism) or names_mechanism(what):
        return export_solver(what, folder)
    from combred.surrogate.shipped import load, models

    with needing_train("the export of a network"):
        from combred.native.generator import generate

    if not isinstance(what, str | Path):
        surrogate = what
    else:
        name = str(what)
        surrogate, known = load(name), models().get(name)
        card, title = card or known, title or name
    text = single_file(generate(surrogate, card), title or "unnamed", "surrogate", card)
    return _write(Path(folder), "surrogate.cpp", text, LIBRARY)


def names_mechanism(what: object) -> TypeGuard[str | Path]:
    """Whether what is to be exported is the name of a mechanism's file."""
    return str(what).endswith((".yaml", ".yml", ".inp", ".cti", ".xml"))  # the last are refused


def _write(folder: Path, source: str, text: str, name: str) -> list[Path]:
    """Write a source, combred.h and the library `name` of the source; the paths written."""
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / name
    written = {folder / source: text.encode()}
    written[folder / "combred.h"] = (SOURCE / "combred.h").read_bytes()
    try:
        written[library] = build_portable({source: text}).read_bytes()
    except CompilerError as error:
        log.warning(
            "%s is not written (%s). Compile %s where there is a compiler, with the command in its "
            "first lines.", library, error, source,
        )  # fmt: skip
    write_files(written)
    if library not in written and os.path.lexists(library):
        names = (f"{name}.old{i or ''}" for i in itertools.count())
        kept = next(path for path in map(library.with_name, names) if not os.path.lexists(path))
        os.replace(library, kept)
        log.warning("%s, the library of an earlier export, is now %s.", library, kept.name)
    return list(written)
