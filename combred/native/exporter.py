"""A surrogate for a flow solver: one C++ file, its C interface, and a library for every CPU.

Takes a `Surrogate`, or the name of one that comes with combred; writes surrogate.cpp, combred.h
and, where there is a compiler, libsurrogate.so.
"""

import logging
from pathlib import Path

from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.native.builder import build_portable
from combred.native.generator import SOURCE, generate
from combred.native.single_file import single_file
from combred.records import write_bytes
from combred.surrogate.shipped import load, models
from combred.surrogate.storage import mechanism_of
from combred.surrogate.surrogate import Surrogate

log = logging.getLogger(__name__)
LIBRARY = "libsurrogate.so"


def export(
    surrogate: Surrogate | str | Path,
    folder: Path | str,
    mechanism: Mechanism | None = None,
    card: dict | None = None,
    title: str = "",
    bf16: bool = False,
) -> list[Path]:
    """Write surrogate.cpp, combred.h and libsurrogate.so to a folder; returns the paths of those
    written.

    surrogate: one that corrects QSS steps, or what `combred.load` takes: the name of a model
    that comes with combred, or a stageN.safetensors. mechanism: the surrogate's, found with a name
    or a file; card: found with a name. title: which surrogate it is, for the head of surrogate.cpp.
    bf16: hidden layers multiply numbers of 8 bits (`generate`): compile surrogate.cpp for a CPU
    that does so; libsurrogate.so, which is for all, has no use of it.
    Without a C++ compiler libsurrogate.so is not written, and the log tells how to make it. Raises
    ValueError for a network of the state alone, FileNotFoundError where there is no such model.
    """
    if not isinstance(surrogate, Surrogate):
        name = str(surrogate)
        surrogate, known = load(name), models().get(name)
        if mechanism is None:
            mechanism = load_mechanism(known["mechanism"] if known else mechanism_of(Path(name)))
        card, title = card or known, title or name
    folder = Path(folder)
    title = (title or "unnamed") + ", products of bf16" * bf16
    text = single_file(generate(surrogate, mechanism, card, bf16), title, card)
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / LIBRARY
    library.unlink(missing_ok=True)  # of another surrogate, if this one cannot be compiled
    written = {"surrogate.cpp": text.encode(), "combred.h": (SOURCE / "combred.h").read_bytes()}
    try:
        written[LIBRARY] = build_portable({"surrogate.cpp": text}).read_bytes()
    except RuntimeError as error:
        log.warning(
            "%s is not written (%s). Compile surrogate.cpp where there is a compiler, with the "
            "command in its first lines.", library, error,
        )  # fmt: skip
    for name, content in written.items():
        write_bytes(folder / name, content)
    return [folder / name for name in written]
