"""Surrogates compiled to C++ without LibTorch: the generator, the build, the library in Python.

Takes a `Surrogate` whose network corrects reaction rates. `compile` gives a `NativeSurrogate`, an
`Advance`; source/combred.h is the C interface for a flow solver. The arithmetic is that of the
torch modules, and is tested against them. `export` writes one C++ file and a library for a flow
solver.
"""

from combred.native.build import build, build_portable
from combred.native.choice import fastest
from combred.native.export import LIBRARY, export
from combred.native.generate import generate
from combred.native.library import NativeSurrogate, compile

__all__ = [
    "LIBRARY",
    "NativeSurrogate",
    "build",
    "build_portable",
    "compile",
    "export",
    "fastest",
    "generate",
]
