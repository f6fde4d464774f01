"""The C++ of a mechanism's solvers: reaction rates by pyrometheus, compiled and linked.

Takes a `Mechanism`; gives the paths of libraries, which `library.py` loads. Objects are kept in the
cache of combred.native, named after the digest of all that they depend on.
"""

import hashlib
import importlib.util
import subprocess
import tempfile
from pathlib import Path

import cantera as ct

from combred.chemistry.mechanism import Mechanism
from combred.files.records import cache_folder, write_bytes
from combred.native.compilers import (
    compile_command,
    find_compiler,
    link_command,
    native_flags,
    run,
    version,
)

SOURCE = Path(__file__).parent / "source"
PYROMETHEUS = "pip install pyrometheus"
SUNDIALS = "apt install libsundials-dev"
LIBRARIES = ("cvode", "nvecserial", "sunmatrixdense", "sunlinsoldense")
OLDEST = "g++ 10 or clang++ 10"  # compilers with C++20
VISIBLE = "-fvisibility=default"
# Rates may be reordered and vectorised: they are compared with Cantera's. In the solvers a number
# that is not finite keeps its meaning.
FLAGS = {"chemistry": ("-std=c++20", "-ffast-math"), "implicit": (), "cvode": ()}


class MissingError(RuntimeError):
    """Something that has to be installed first; the message has the command."""


def build(mechanism: Mechanism, solver: str) -> Path:
    """The library of "implicit" or "cvode" for a mechanism, compiled for this machine's CPU.

    Raises MissingError without a compiler, pyrometheus or (for "cvode") SUNDIALS, and RuntimeError
    where the compiler fails.
    """
    try:
        compiler = find_compiler()
    except RuntimeError as error:
        raise MissingError(str(error)) from error
    if solver == "cvode":
        _require_sundials(compiler)
    generated = rates(mechanism)
    objects = [_object(compiler, generated, name) for name in ("chemistry", solver)]
    libraries = [f"-lsundials_{name}" for name in LIBRARIES] if solver == "cvode" else []
    library = objects[1].with_suffix(f".{objects[0].stem[-8:]}.so")
    if not library.is_file():
        with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
            made = Path(scratch) / "linked.so"
            command = [*link_command(compiler), *map(str, objects), *libraries, "-o", str(made)]
            run([command], OLDEST)
            write_bytes(library, made.read_bytes())
    return library


def rates(mechanism: Mechanism) -> dict[str, str]:
    """The generated files (name -> text): rates and thermodynamics of a mechanism as a C++ header,
    and its number of species. Raises MissingError without pyrometheus."""
    if not importlib.util.find_spec("pyrometheus"):
        raise MissingError(f"pyrometheus, which generates rates, is missing: {PYROMETHEUS}")
    from pyrometheus.codegen.cpp import CppCodeGenerator

    text = CppCodeGenerator.generate("generated", _with_transport(mechanism.solution()))
    # One logarithm is qualified, which excludes types other than double.
    text = text.replace("std::log(", "log(")
    size = f"#pragma once\n\nconstexpr int n_species = {mechanism.n_species};\n"
    return {"rates.hpp": text, "size.hpp": size}


def _with_transport(gas: ct.Solution) -> ct.Solution:
    """A phase with transport data, which pyrometheus asks for and no solver here uses: those of
    spheres, where it has none."""
    if gas.transport_model != "none":
        return gas
    species = gas.species()
    for one in species:
        atoms = sum(one.composition.values())
        one.transport = ct.GasTransportData()
        geometry = "atom" if atoms == 1 else "linear" if atoms == 2 else "nonlinear"
        one.transport.set_customary_units(geometry, 3.0, 100.0)
    return ct.Solution(
        thermo="ideal-gas",
        kinetics="gas",
        transport_model="mixture-averaged",
        species=species,
        reactions=gas.reactions(),
    )


def _require_sundials(compiler: list[str]) -> None:
    """Raises MissingError unless the compiler finds CVODE's header."""
    asked = [*compiler, "-E", "-x", "c++", "-", "-o", "/dev/null"]
    done = subprocess.run(asked, input="#include <cvode/cvode.h>", capture_output=True, text=True)
    if done.returncode != 0:
        raise MissingError(f"SUNDIALS, which has CVODE, is missing: {SUNDIALS}")


def _object(compiler: list[str], generated: dict[str, str], name: str) -> Path:
    """The object of source/NAME.cpp, from the cache where nothing has changed."""
    command = [*compile_command(compiler), *native_flags(compiler), VISIBLE, *FLAGS[name]]
    needed = generated if name == "chemistry" else {"size.hpp": generated["size.hpp"]}
    files = needed | {path.name: path.read_text() for path in sorted(SOURCE.glob("*.hpp"))}
    files[f"{name}.cpp"] = (SOURCE / f"{name}.cpp").read_text()
    digest = hashlib.sha256("\0".join([*command, version(compiler)]).encode())
    for file, text in sorted(files.items()):
        digest.update(f"\0{file}\0{text}".encode())
    home = cache_folder() / "solvers"
    home.mkdir(parents=True, exist_ok=True)
    made = home / f"{name}-{digest.hexdigest()[:24]}.o"
    if not made.is_file():
        with tempfile.TemporaryDirectory(dir=home) as scratch:
            for file, text in files.items():
                (Path(scratch) / file).write_text(text)
            output = Path(scratch) / "made.o"
            run([[*command, "-c", str(Path(scratch) / f"{name}.cpp"), "-o", str(output)]], OLDEST)
            write_bytes(made, output.read_bytes())
    return made
