"""Surrogates compiled to C++ without LibTorch: the generator, the build, the library in Python.

Takes a `Surrogate` whose network corrects QSS steps. `compile` gives a `NativeSurrogate`, an
`Advance`; `compile_cuda` a `CudaSurrogate`, the same on a GPU. `export` writes one C++ file and a
library for a flow solver, whose C interface is source/combred.h. The arithmetic is that of the
torch modules, and is tested against them.
"""

from combred.native.build import build, build_portable
from combred.native.choice import fastest, scripted
from combred.native.cuda import CudaSurrogate, compile_cuda
from combred.native.export import LIBRARY, export
from combred.native.generate import generate
from combred.native.library import NativeSurrogate, compile

__all__ = [
    "LIBRARY",
    "CudaSurrogate",
    "NativeSurrogate",
    "build",
    "build_portable",
    "compile",
    "compile_cuda",
    "export",
    "fastest",
    "generate",
    "scripted",
]
