"""combred: stiff chemistry for flow codes, and networks that are judged beside it.

    combred.solver("gri30.yaml")            the solver of a mechanism
    python -m combred.pipeline stage=2      train, reduce, validate and export a surrogate

The public names below are loaded at their first use: `import combred` imports neither torch nor
Cantera. Data flow through the folders in this order: chemistry, simulation, dataset, sampling,
sensitivity, surrogate, training, kernels, reduction, native, validation, check, report; `pipeline`
runs them. All may use config, files and processes; the solver of `native.solver` serves all.
"""

import importlib

__version__ = "0.3.0"

# Public name -> where it is defined: "module", or "module:attribute", under `combred`.
_HOMES = {
    "CVODE": "chemistry.reactor:CVODE",
    "Mechanism": "chemistry.mechanism:Mechanism",
    "Surrogate": "surrogate.surrogate:Surrogate",
    "export": "surrogate.export",
    "flame": "simulation.premixed.flame",
    "ignition": "simulation.ignition",
    "kernels": "kernels",
    "load": "surrogate.shipped:load",
    "load_mechanism": "chemistry.mechanism:load_mechanism",
    "load_surrogate": "surrogate.storage:load_surrogate",
    "models": "surrogate.shipped:models",
    "native": "native",
    "reduce": "reduction:reduce",
    "reduction": "reduction",
    "solver": "native.solver:solver",
    "validation": "validation",
}
__all__ = list(_HOMES)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module 'combred' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    home = importlib.import_module(f"combred.{module}")
    return getattr(home, attribute) if attribute else home
