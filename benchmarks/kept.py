"""Results that are kept: each part of a file of results carries a stamp, the digest of the code
that made it.

Without torch, for `docs.tables` and the scripts alike. A digest covers whatever the numbers depend
on: the script, the definitions in `MEASURING` that it reaches, and what it measured (`of`), each by
name:

    "drm19.yaml", "FILE:PHASE"   a solver: the sources in C++, the generator, the mechanism's text
    NETWORKS                     any network: its sources in C++, its generator, its step in torch
    "drm19-38k"                  a shipped network: its file, and both of the above
    "libsolver.so"               a library that was compiled before: its bytes
    COUPLING                     the chemistry solver of OpenFOAM
    DISPATCH                     the choice between the levels of a library for all CPUs: their code
                                 is that of the solver, and its name tells which one was measured

The digest is not that of the generated text, whose numbers differ in their last digits from one
processor to another. Comments and blanks do not count (see also `benchmarks.reached`). Cantera
counts by the version of its interface (3.2), which gives the reference.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import cantera as ct

import combred
from benchmarks.reached import ROOT, reached
from combred.native import compilers
from combred.processes.machine import machine

CACHE = Path(__file__).parent / "cache"  # of what CVODE computed
SOURCE = ROOT / "combred/native/source"
COUPLING, NETWORKS, DISPATCH = "coupling", "networks", "dispatch.hpp"
KEY = "code"  # of a stamp in its part
CHEMISTRY, FLAMES = "combred.chemistry", "combred.flames"
MEASURING = (
    "benchmarks", CHEMISTRY, "combred.experiments", "combred.surrogates.timing", "combred.check",
    "combred.reactors", "combred.reduction", "combred.skeletal", "combred.surrogates.sampling",
    FLAMES,
)  # fmt: skip
GENERATOR = "combred.native.solver.generator"
OF_SOLVER = "combred.native.solver", "combred.native.arrays", CHEMISTRY
MODEL, LIBRARY = "combred.surrogates.model", "combred.surrogates.library"
STEP, OF_STEP = f"{MODEL}.forms", (MODEL, CHEMISTRY)
WRITER, OF_WRITER = f"{LIBRARY}.generator", (LIBRARY, *OF_SOLVER)
NETWORK_SOURCE = ROOT / "combred/surrogates/library/source"
BY_LIBTORCH = "torchscript"  # of these sources, for flow codes: no result is measured by them
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)  # or a literal


# -- the digest ------------------------------------------------------------------------------------


def essence(path: Path) -> str:
    """The text of a source in C++ without comments and blanks."""
    return " ".join(COMMENT.sub(lambda found: found[1] or " ", path.read_text()).split())


def _sources(*folders: Path) -> list[str]:
    return [
        f"{path.name} {essence(path)}"
        for folder in folders
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name != DISPATCH
    ]


@cache
def _solver(name: str) -> list[str]:
    folders = map(Path, (ROOT, ROOT / "data/mechanisms", *ct.get_data_directories()))
    found = [path for folder in folders if (path := folder / name.split(":")[0]).is_file()]
    if not found:
        raise FileNotFoundError(f"there is no mechanism {name}")
    texts = [found[0].read_text(), str((compilers.FLAGS, compilers.LEVELS))]
    return [*texts, *reached(GENERATOR, OF_SOLVER), *_sources(SOURCE, SOURCE / "solver")]


@cache
def _networks() -> list[str]:
    modules = [*reached(STEP, OF_STEP), *reached(WRITER, OF_WRITER)]
    measured = (path for path in NETWORK_SOURCE.iterdir() if path.name != BY_LIBTORCH)
    return [*modules, *_sources(*sorted(measured))]


@cache
def _coupling() -> list[str]:
    headers = [ROOT / "coupling/cells.hpp", ROOT / "coupling/library.hpp"]
    sources = [*(ROOT / "coupling/openfoam").glob("*.[CH]"), *headers]
    own = "combred.native.openfoam"
    return [*map(essence, sorted(sources)), *reached(own, (own, CHEMISTRY))]


@cache
def _network(name: str) -> list[str]:
    card = combred.models().get(name)
    if card is None:
        raise ValueError(f"the model {name} does not ship any more")
    file = ROOT / "data/models" / f"{name}.safetensors"
    own = hashlib.sha256(file.read_bytes()).hexdigest()
    return [own, *_solver(card["mechanism"]), *_networks()]


def is_network(name: str) -> bool:
    """Whether a name of what is measured is that of a shipped network."""
    return name not in (COUPLING, NETWORKS, DISPATCH) and not Path(name.split(":")[0]).suffix


def parts_of(name: str) -> list[str]:
    """The texts on which the numbers of a solver, a network or the coupling depend."""
    if name == DISPATCH:
        return [essence(SOURCE / DISPATCH)]
    if name in (COUPLING, NETWORKS):
        return _coupling() if name == COUPLING else _networks()
    if name.endswith(".so"):
        return [hashlib.sha256(Path(name).read_bytes()).hexdigest()]
    return _network(name) if is_network(name) else _solver(name)


def code_of(script: str, of: Iterable[str] = ()) -> str:
    """The digest of the code on which results of a script, "flames", depend. of: see the module.
    Raises ValueError or FileNotFoundError where a part is not there any more."""
    texts = [".".join(ct.__version__.split(".")[:2])]
    texts += reached(f"benchmarks.{script}", MEASURING)
    if any(text.startswith("benchmarks.solvers.library ") for text in texts):
        texts += _sources(ROOT / "benchmarks/solvers/source")
    if any(text.startswith(FLAMES) for text in texts):
        texts += _sources(SOURCE / "flame")
    for name in of:
        texts += [name, *parts_of(name)]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


# -- stamps ----------------------------------------------------------------------------------------


def stamp(script: str, *of: str) -> dict[str, dict]:
    """The stamp of a part of results, to be merged into it: made before it is measured, for sources
    may change meanwhile. script: `__file__`; of: what is measured, see the module."""
    name, names = Path(script).stem, [one.removeprefix(f"{ROOT}/") for one in of]
    told = {"digest": code_of(name, names), "script": name, "of": names}
    made = {"version": combred.__version__, "date": f"{datetime.now(UTC):%Y-%m-%d}"}
    return {KEY: told | made}


def is_current(part: dict | None) -> bool:
    """Whether a part of results was measured by the code that is there."""
    code = (part or {}).get(KEY)
    try:
        return code is not None and code["digest"] == code_of(code["script"], code["of"])
    except (OSError, ValueError):
        return False


def parts(results: dict, name: str = "") -> Iterator[tuple[str, dict]]:
    """The parts of results with numbers, each with the name of its place: those that have a stamp,
    and the topmost that have none in them. Single values at the top describe the measurement."""
    if KEY in results or name and not _stamped(results):
        yield name, results
        return
    for key, item in results.items():
        rows = {row.get("model", i): row for i, row in enumerate(item)} if _is_rows(item) else item
        if isinstance(rows, dict) and rows:
            yield from parts(rows, f"{name}/{key}".lstrip("/"))


def _is_rows(item) -> bool:
    return isinstance(item, list) and all(isinstance(row, dict) for row in item)


def _stamped(item) -> bool:
    inner = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return isinstance(item, dict) and KEY in item or any(map(_stamped, inner))


def kept(results: Path, names: Iterable[str]) -> dict:
    """What a file of results holds of this machine, so that what is not run again stays; else the
    machine, and {} for each of the names."""
    here = machine()
    if results.exists() and (found := json.loads(results.read_text()))["machine"] == here:
        return found
    return {"machine": here} | {name: {} for name in names}
