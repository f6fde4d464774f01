"""combred: stiff chemistry solvers generated from any mechanism, and neural surrogates, trained,
reduced and validated against them and CVODE.

    combred.solver("gri30.yaml").advance(T, p, Y, dt)
    python -m combred.pipeline stage=2

The public names below are loaded at their first use: `import combred` imports neither torch nor
Cantera. Data flow through the folders in this order: chemistry, native, flames, experiments,
reactors, surrogates (model, files, library, dataset, sampling, sensitivity, training), check,
skeletal, report; `pipeline` runs them. The reduction of networks knows none of these. All may use
config, files and processes.
"""

from combred.names import loader

__version__ = "0.4.0"

# Public name -> where it is defined: "module", or "module:attribute", under `combred`.
_HOMES = {
    "CVODE": "chemistry.reactor:CVODE",
    "cantera": "cantera",
    "Mechanism": "chemistry.mechanism:Mechanism",
    "Sources": "native.solver.sources:Sources",
    "Surrogate": "surrogates.model.surrogate:Surrogate",
    "Transform": "surrogates.model.own_transform:Transform",
    "differentiable": "reactors.autograd:differentiable",
    "extinction_curve": "reactors.stirred:extinction_curve",
    "export": "surrogates.files.export",
    "export_surrogate": "libraries:export_surrogate",
    "flame": "flames.speeds:flame",
    "flame_speed": "flames.speeds:flame_speed",
    "ignition": "experiments.ignition.rollout",
    "ignition_delay": "experiments.ignition.criteria:ignition_delay",
    "ignition_sensitivity": "reactors.derivatives:ignition_sensitivity",
    "judge": "judging:judge",
    "kernels": "kernels",
    "load": "surrogates.files.shipped:load",
    "load_mechanism": "chemistry.mechanism:load_mechanism",
    "load_surrogate": "surrogates.files.storage:load_surrogate",
    "models": "surrogates.files.shipped:models",
    "native": "native",
    "plug_flow": "reactors.plug_flow:plug_flow",
    "psr": "reactors.stirred:psr",
    "reactor": "reactors.profile:reactor",
    "reduce": "reduction:reduce",
    "reduce_mechanism": "skeletal.reducing:reduce_mechanism",
    "reduction": "reduction",
    "solver": "native.solver:solver",
    "surrogate": "surrogates.model.own:surrogate",
    "validation": "validation",
}
__all__ = list(_HOMES)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


__getattr__ = loader("combred", _HOMES)
