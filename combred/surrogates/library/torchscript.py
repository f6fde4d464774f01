"""A surrogate as a library that calls LibTorch: for networks that are too large to be compiled, or
that have no C++ (`model.own_form`).

Takes a `Surrogate` and its card; writes surrogate.pt, the solver behind it (libsolver.so), and
libsurrogate.so, which has the same C interface (combred.h) as any library of combred, so that flow
codes take it as one. It needs the LibTorch of the torch that is installed, and both files beside
it.
"""

from pathlib import Path

import torch

from combred.experiments.accuracy import (
    BEHIND,
    REJECTED,
    card_of_file,
    exceeding,
    torchscript_name,
)
from combred.files.records import COMPILED, write_bytes, write_files
from combred.native import exporter
from combred.native.arrays import comment
from combred.native.compilers import find_compiler, run
from combred.native.damage import sealed
from combred.native.identity import write_identity
from combred.native.single_file import join
from combred.native.solver.generator import SOURCE
from combred.surrogates.files.card import own_card, up_to_date
from combred.surrogates.files.export import export_torchscript, states_in_range
from combred.surrogates.library.generator import facts, identity_of
from combred.surrogates.model.surrogate import Surrogate

OWN = Path(__file__).with_name("source") / "torchscript"
MAIN = "library.cpp"
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
    to a folder; returns their paths. card, title: as of `combred.native.export`. Files whose errors
    exceed the limits of the card have the name `REJECTED`.

    Without a C++ compiler neither library is written, and the log tells how to make them. Raises as
    `export_torchscript` and `combred.native.exporter.export`.
    """
    folder, mechanism = Path(folder), surrogate.mechanism
    card = up_to_date(card or own_card(surrogate))
    exceeds = exceeding(card)
    stem = REJECTED if BEHIND in exceeds else "surrogate"
    network = folder / torchscript_name(exceeds)
    folder.mkdir(parents=True, exist_ok=True)
    export_torchscript(network, surrogate, card, states_in_range(surrogate))
    written = exporter.export(mechanism, folder)
    files = {path.name: path.read_text() for path in SOURCE.glob("*.h*")}
    files[MAIN] = (OWN / MAIN).read_text()
    own = card_of_file(card, BEHIND)
    files["identity.hpp"] = write_identity(mechanism, identity_of(surrogate, own))
    source, library = folder / f"{stem}.cpp", folder / f"lib{stem}.so"
    words = ["g++", *options("$torch", f"./{source.name}"), "-o", library.name]
    command = " ".join(words)
    head = HEAD.format(title=comment(title or "unnamed"), facts=facts(card), command=command)
    head += f'#define NETWORK_FILE "{network.name}"\n'
    write_bytes(source, (head + join(files, MAIN)).encode())
    written += [network, network.with_suffix(".json"), source]
    library.unlink(missing_ok=True)  # of another network
    if folder / exporter.SOLVER_LIBRARY not in written:
        return written  # the log has told why
    made = folder / f"{library.name}.new"
    try:
        run([[*find_compiler(), *options(torch.__path__[0], str(source)), "-o", str(made)]])
        write_files({library: sealed(made.read_bytes())}, COMPILED)
    finally:
        made.unlink(missing_ok=True)
    return [*written, library]


def options(torch: str, source: str) -> list[str]:
    """The options of the C++ compiler. torch: the folder of torch; source: the path of the C++
    file."""
    return [
        *("-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{torch}/include"),
        *(source, f"-L{torch}/lib", "-ltorch", "-ltorch_cpu", "-lc10"),
        *(f"-Wl,-rpath,{torch}/lib,-Bsymbolic", "-ldl"),
    ]
