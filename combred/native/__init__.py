"""C++ without LibTorch: stiff solvers of a mechanism, and surrogates.

`solver` takes a mechanism and gives a `Solver`; `compile` takes a `Surrogate` and gives a
`NativeSurrogate`, each an `Advance`; `load` gives them of a library that was compiled before.
`compile_cuda` gives a `CudaLibrary`, the same on a GPU. `export` writes one C++ file and a library
for a flow solver, whose C interface is source/combred.h, `export_case` also what a case of OpenFOAM
needs. The names below are loaded at their first use: a solver needs no torch.
"""

from combred.names import loader

# Public name -> the module and the attribute that it is, under `combred.native`.
_HOMES = {
    "LIBRARY": "exporter:LIBRARY",
    "CudaLibrary": "cuda:CudaLibrary",
    "NativeSurrogate": "library:NativeSurrogate",
    "build": "builder:build",
    "build_portable": "builder:build_portable",
    "compile": "library:compile",
    "compile_cuda": "cuda:compile_cuda",
    "export": "exporter:export",
    "export_case": "openfoam:export_case",
    "fastest": "choice:fastest",
    "generate": "generator:generate",
    "load": "library:load",
    "scripted": "choice:scripted",
}
__all__ = list(_HOMES)
__getattr__ = loader("combred.native", _HOMES)
