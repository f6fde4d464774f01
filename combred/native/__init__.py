"""C++ without LibTorch: stiff solvers of a mechanism, and surrogates.

`solver` takes a mechanism and gives a `Solver`; `compile` takes a `Surrogate` whose network
corrects QSS steps and gives a `NativeSurrogate`, each an `Advance`. `compile_cuda` gives a
`CudaLibrary`, the same on a GPU. `export` writes one C++ file and a library for a flow solver,
whose C interface is source/combred.h, `export_case` also what a case of OpenFOAM needs. The names
below are loaded at their first use: a solver needs no torch.
"""

import importlib

# Public name -> the module that defines it, under `combred.native`.
_HOMES = {
    "LIBRARY": "exporter",
    "CudaLibrary": "cuda",
    "NativeSurrogate": "library",
    "build": "builder",
    "build_portable": "builder",
    "compile": "library",
    "compile_cuda": "cuda",
    "export": "exporter",
    "export_case": "openfoam",
    "fastest": "choice",
    "generate": "generator",
    "scripted": "choice",
}
__all__ = list(_HOMES)


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module 'combred.native' has no attribute {name!r}")
    return getattr(importlib.import_module(f"combred.native.{_HOMES[name]}"), name)
