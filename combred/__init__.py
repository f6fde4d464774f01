"""combred: chemistry surrogates for flames, trained, made small, and proved against CVODE.

    python -m combred.pipeline stage=2

The rooms, in the order in which data flow: chemistry, simulation, dataset, surrogate, training,
kernels, reduction, validation, report, pipeline. See the README for the tour.
"""

__version__ = "0.1.0"
__all__ = [
    "CVODE",
    "Mechanism",
    "Surrogate",
    "load",
    "load_mechanism",
    "load_surrogate",
    "models",
    "reduce",
]

_HOMES = {
    "CVODE": "chemistry.reactor",
    "Mechanism": "chemistry.mechanism",
    "load_mechanism": "chemistry.mechanism",
    "Surrogate": "surrogate.surrogate",
    "load_surrogate": "surrogate.storage",
    "reduce": "reduction",
    "load": "surrogate.shipped",
    "models": "surrogate.shipped",
}


def __getattr__(name: str):
    # Nothing is loaded before it is asked for: torch and Cantera take seconds.
    if name in _HOMES:
        import importlib

        return getattr(importlib.import_module(f"combred.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'combred' has no attribute {name!r}")
