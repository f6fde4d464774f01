"""A library for a flow solver: one C++ file, its C interface, and code for every CPU.

Takes a mechanism, and what is added to its solver; writes solver.cpp, combred.h and, where there is
a compiler, libsolver.so.
"""

import itertools
import logging
import os
from pathlib import Path

from combred.chemistry.mechanism import Mechanism
from combred.files.records import write_files
from combred.native.builder import build_portable
from combred.native.compilers import CompilerError
from combred.native.extension import Extension, library_files
from combred.native.single_file import single_file
from combred.native.solver.generator import SOURCE

log = logging.getLogger(__name__)
SOLVER_LIBRARY = "libsolver.so"


def export(
    mechanism: Mechanism, folder: Path | str, extension: Extension | None = None
) -> list[Path]:
    """Write the stiff solver of a mechanism, and what is added to it, for a flow solver: source,
    combred.h and library, to a folder; returns the paths of those written. They are solver.cpp and
    libsolver.so, or have the name of the extension.

    The files take the place of those of before when all are made. Without a C++ compiler no library
    is written, the one of before is renamed to libsolver.so.old (.old1, ... where there is one),
    and the log tells how to make it. Raises ValueError, with the names of the reactions, for rates
    that are not known.
    """
    files = library_files(mechanism, extension)
    if extension is None:
        stem, text = "solver", single_file(files, f"the solver of {mechanism.name}")
    else:
        stem = extension.stem
        text = single_file(files, extension.title, stem, extension.facts)
    folder, source = Path(folder), f"{stem}.cpp"
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / f"lib{stem}.so"
    written = {folder / source: text.encode()}
    written[folder / "combred.h"] = (SOURCE / "combred.h").read_bytes()
    try:
        written[library] = build_portable(files).read_bytes()
    except CompilerError as error:
        log.warning(
            "%s is not written (%s). Compile %s where there is a compiler, with the command in its "
            "first lines.", library, error, source,
        )  # fmt: skip
    write_files(written)
    if library not in written and os.path.lexists(library):
        names = (f"{library.name}.old{i or ''}" for i in itertools.count())
        kept = next(path for path in map(library.with_name, names) if not os.path.lexists(path))
        os.replace(library, kept)
        log.warning("%s, the library of an earlier export, is now %s.", library, kept.name)
    return list(written)
