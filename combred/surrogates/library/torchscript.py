"""A surrogate as a library that calls LibTorch: for networks that are too large to be compiled, or
that have no C++ (`model.own_form`).

Takes a `Surrogate` and its card; writes surrogate.pt, the solver behind it (libsolver.so), and
libsurrogate.so, which has the same C interface (combred.h) as any library of combred, so that flow
codes take it as one. It needs the LibTorch of the torch that is installed, and both files beside
it.
"""

from pathlib import Path

import torch

from combred.files.records import COMPILED, write_bytes, write_files
from combred.native import exporter
from combred.native.arrays import comment
from combred.native.compilers import find_compiler, run
from combred.native.damage import sealed
from combred.native.identity import write_identity
from combred.native.single_file import join
from combred.native.solver.generator import SOURCE
from combred.surrogates.files.card import own_card
from combred.surrogates.files.export import export_torchscript, states_in_range
from combred.surrogates.library.generator import facts, identity_of
from combred.surrogates.model.surrogate import Surrogate

OWN = Path(__file__).with_name("source") / "torchscript"
LIBRARY, MAIN = "libsurrogate.so", "library.cpp"
HEAD = """\
// Combustion chemistry by LibTorch, written by combred: {title}.
//
{facts}
//
// Compile it, with libsolver.so in the same folder; combred.h declares its functions:
//
//     torch=$(python -c 'import torch; print(torch.__path__[0])')
//     {command}
"""


def export(
    surrogate: Surrogate, folder: Path | str, card: dict | None = None, title: str = ""
) -> list[Path]:
    """Write surrogate.pt with its card, libsolver.so, combred.h, surrogate.cpp and libsurrogate.so
    to a folder; returns their paths. card, title: as of `combred.native.export`.

    Without a C++ compiler neither library is written, and the log tells how to make them. Raises as
    `export_torchscript` and `combred.native.exporter.export`.
    """
    folder, mechanism = Path(folder), surrogate.mechanism
    card = card or own_card(surrogate)
    folder.mkdir(parents=True, exist_ok=True)
    export_torchscript(folder / "surrogate.pt", surrogate, card, states_in_range(surrogate))
    written = exporter.export(mechanism, folder)
    files = {path.name: path.read_text() for path in SOURCE.glob("*.h*")}
    files[MAIN] = (OWN / MAIN).read_text()
    files["identity.hpp"] = write_identity(mechanism, identity_of(surrogate, card))
    words = ["g++", *options("$torch", "."), "-o", LIBRARY]
    command = " ".join(words)
    head = HEAD.format(title=comment(title or "unnamed"), facts=facts(card), command=command)
    source = folder / "surrogate.cpp"
    write_bytes(source, (head + join(files, MAIN)).encode())
    written += [folder / "surrogate.pt", folder / "surrogate.json", source]
    library = folder / LIBRARY
    library.unlink(missing_ok=True)  # of another network
    if folder / exporter.SOLVER_LIBRARY not in written:
        return written  # the log has told why
    made = folder / f"{LIBRARY}.new"
    try:
        run([[*find_compiler(), *options(torch.__path__[0], str(folder)), "-o", str(made)]])
        write_files({library: sealed(made.read_bytes())}, COMPILED)
    finally:
        made.unlink(missing_ok=True)
    return [*written, library]


def options(torch: str, folder: str) -> list[str]:
    """The options of the C++ compiler. torch: the folder of torch; folder: of surrogate.cpp."""
    return [
        *("-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{torch}/include"),
        *(f"{folder}/surrogate.cpp", f"-L{torch}/lib", "-ltorch", "-ltorch_cpu", "-lc10"),
        *(f"-Wl,-rpath,{torch}/lib,-Bsymbolic", "-ldl"),
    ]
