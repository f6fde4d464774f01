"""C++ without LibTorch: stiff solvers of a mechanism, and what is added to them.

`combred.solver` gives the solver of a mechanism. Here `build` compiles generated files,
`export` writes one C++ file and a library for a flow solver, whose C interface is source/combred.h,
`export_case` also what a case of OpenFOAM needs, `load` gives a library that was compiled before,
and `compile_cuda` one for a GPU. What takes surrogates stands in `combred.libraries` and
`combred.surrogates.library`: the rooms below know mechanisms alone, and an `Extension`. The names
below are loaded at their first use: a solver needs no torch.
"""

from combred.names import loader

# Public name -> the module and the attribute that it is.
_HOMES = {
    "LIBRARY": "libraries:LIBRARY",
    "CudaLibrary": "native.cuda:CudaLibrary",
    "NativeSurrogate": "surrogates.library.compiled:NativeSurrogate",
    "build": "native.builder:build",
    "build_portable": "native.builder:build_portable",
    "compile": "surrogates.library.choice:compile",
    "compile_cuda": "libraries:compile_cuda",
    "export": "libraries:export",
    "export_case": "libraries:export_case",
    "fastest": "surrogates.library.choice:fastest",
    "generate": "surrogates.library.generator:generate",
    "load": "libraries:load",
    "scripted": "surrogates.library.choice:scripted",
}
__all__ = list(_HOMES)
__getattr__ = loader("combred.native", _HOMES)
