"""The door for a network of one's own: `combred.surrogate`.

Takes a torch module that somebody trained elsewhere, and what it reads and predicts; gives a
`Surrogate`, which is judged, reduced and exported as those of the pipeline. A fully connected ReLU
network takes the form of `model.forms`: its transform goes into its first and its last layer. That
is exact. Any other module stays as it is (`model.own_form`), and has no C++.
"""

import logging
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, fx, nn

from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.states import require_real, require_states, steps_of
from combred.config.fields import require
from combred.surrogates.model.forms import StateSurrogate
from combred.surrogates.model.network import Network
from combred.surrogates.model.own_form import Code, OwnNetwork, OwnSurrogate
from combred.surrogates.model.own_module import (
    evaluation_copy,
    make_exportable,
    require_function,
    widths_of,
)
from combred.surrogates.model.own_transform import LEAST_FLOOR, Transform
from combred.surrogates.model.transform import StateTransform

log = logging.getLogger(__name__)
MANY = 16  # states with which a network is tried
# The std of a variable that never changes, relative to the variable: the rounding of floats.
CONSTANT_STD = 1e-6
# The same in doubles, where the standardised constant is rounding, too.
DOUBLE_STD, SMALL_INPUT = 1e-12, 1e-3
RELU = torch.relu, nn.functional.relu, "relu"
SILENT = nn.Dropout, nn.Identity  # no effect after training
# Of a standardised input: C++ computes F(Y) in float32, whose rounding is 2^-24 / boxcox.
ROUNDING, MOST_ROUNDING = 2.0**-24, 1e-3
WITHOUT_T = "it does not predict T, by which C++ estimates its error"
NO_TRANSFORM = "it maps [T, p, Y] without a combred.Transform"


def surrogate(
    network: nn.Module,
    mechanism: Mechanism | str,
    transform: Transform | None = None,
    *,
    dt: float,
    states: Any,
) -> StateSurrogate:
    """A torch module that advances states by one time step, as a surrogate: one form for all that
    judges, reduces and exports (`combred.judge`, `combred.reduce`, `combred.export_surrogate`).

    network: maps inputs (n, 2 + n_species) to predictions, as `transform` says; without one, states
    [T (K), p (Pa), Y] themselves to those dt later. mechanism: or its file, whose order the species
    have. dt: the time step [s] that the network predicts. states (n, 2 + n_species): those of the
    training, [T, p, Y]; outside their range the network is not trusted.

    A network of linear layers with ReLU between them is also written as C++. Any other module is
    kept in torch. Raises ValueError where network, transform, mechanism and states do not fit.
    """
    if not isinstance(mechanism, Mechanism):
        mechanism = load_mechanism(mechanism)
    require(isinstance(network, nn.Module), "the network has to be a torch.nn.Module")
    is_transform = transform is None or isinstance(transform, Transform)
    require(is_transform, "transform has to be a combred.Transform(...)")
    dt = float(steps_of(dt, 1)[0])
    rows = torch.from_numpy(require_real("states", states))
    n = 2 + mechanism.n_species
    are_states = rows.dim() == 2 and rows.shape[1] == n and len(rows) > 1
    require(are_states, f"states of {mechanism.name} are (n, {n}), not {tuple(rows.shape)}")
    require_states(rows.numpy(), "states of the training")
    fits = transform is None or len(transform.mean) == n
    require(fits, f"the transform's mean has one number for T, p and each species: {n}")
    fitted = _fitted(rows, mechanism, transform, dt)
    if transform is not None:
        transform = _with_constants(transform, rows, mechanism)
    network = evaluation_copy(network)
    x = rows[:MANY] if transform is None else transform.inputs(rows[:MANY]).double()
    widths, double = widths_of(network, x)
    require_function(network, x if double else x.float())
    columns = _columns(mechanism, transform, widths[1])
    layers, why = relu_layers(network)
    why = why or ("" if 0 in columns else WITHOUT_T)
    why = why or why_not(transform, mechanism) or _why_other(network, layers, x, double)
    made: StateSurrogate
    if why or transform is None:
        code = Code(columns, transform, double)
        made = OwnSurrogate(mechanism, fitted, code, OwnNetwork(network, widths, why)).eval()
        make_exportable(made, rows)
    else:
        fitted.scale[columns] = transform.target_std
        made = StateSurrogate(mechanism, fitted, folded(layers, transform, fitted, columns))
    made.fit_trust([rows])
    return made.eval()


def _with_constants(transform: Transform, rows: Tensor, mechanism: Mechanism) -> Transform:
    """The transform, whose std is 1 of the variables that never change in states `rows` and whose
    std is only rounding, as that of an absent species; their inputs stay as they are."""
    v = transform.variables(rows)
    size = v[0].abs()
    constant = (v.amax(0) - v.amin(0) <= DOUBLE_STD * size) & (transform.std <= CONSTANT_STD * size)
    x = (v[0] - transform.mean) / transform.std
    unsure = constant & ((x.abs() > SMALL_INPUT) | (transform.std <= DOUBLE_STD * size))
    names = ["T", "p", *mechanism.species_names]
    for i in unsure.nonzero().flatten().tolist():
        log.warning("%s never changes in the states of the training, and its std, %.2g, is "
                    "rounding: its input is taken as %.3g, as Transform.inputs has it. Train with "
                    "std = 1 there if that is not the network's.",
                    names[i], float(transform.std[i]), float(x[i]))  # fmt: skip
    mean = torch.where(constant, v[0] - x, transform.mean)
    return replace(transform, mean=mean, std=torch.where(constant, 1.0, transform.std))


def _why_other(network: nn.Module, layers: list[nn.Linear], x: Tensor, double: bool) -> str:
    """Why a network is another function than its layers with ReLU between them; "" if it is not."""
    y = given = x if double else x.float()
    with torch.no_grad():
        for layer in layers:
            y = nn.functional.linear(y, layer.weight, layer.bias)
            y = y if layer is layers[-1] else torch.relu(y)
        same = torch.allclose(network(given), y, 1e-4, 1e-5 * float(y.abs().max()))
    return "" if same else "hooks, or a forward of its own, change what its layers compute"


def _fitted(
    rows: Tensor, mechanism: Mechanism, transform: Transform | None, dt: float
) -> StateTransform:
    """The surrogate's transform: its range is that of the states."""
    numbers = 1.0, LEAST_FLOOR, 1.0
    if transform is not None:
        numbers = transform.boxcox, transform.floor, transform.power
    found = StateTransform(mechanism.n_species, *numbers)
    return found.fit([(rows, rows, torch.full((len(rows),), float(dt), dtype=torch.float64))])


def _columns(mechanism: Mechanism, transform: Transform | None, count: int) -> list[int]:
    """The columns of [T, p, Y] that a network predicts."""
    known = ["T", "p", *mechanism.species_names]
    species = known[2:]
    usual = [known, ["T", *species], species, *([species[:-1]] if mechanism.inert[-1] else [])]
    names = list(transform.outputs) if transform else []
    names = names or {len(outputs): outputs for outputs in usual}.get(count, [])
    wrong = [name for name in names if name not in known]
    require(not wrong, f"outputs: {mechanism.name} has no {', '.join(wrong)}")
    sizes = {count, len(names)} | ({len(transform.target_std)} if transform else set())
    require(
        len(sizes) == 1 and len(set(names)) == len(names),
        f"a network with {count} outputs: name each in Transform(outputs=...), with as many "
        f"numbers in target_mean; without names it predicts T, p and all species, {len(known)}, "
        f"all but p, {len(known) - 1}, or all species, {len(species)}",
    )
    require(
        bool(set(names) & set(species)),
        "the network has to predict species: T alone leaves the composition as it is",
    )
    return [known.index(name) for name in names]


# -- the form that C++ has -------------------------------------------------------------------------


def relu_layers(network: nn.Module) -> tuple[list[nn.Linear], str]:
    """The layers of a network of linear layers with ReLU between them; or why it is no such
    network."""
    try:
        graph = fx.Tracer().trace(network)
    except Exception as error:  # whatever Python a stranger's module has
        return [], f"torch.fx cannot trace it ({error})"
    layers: list[nn.Linear] = []
    before, linear = None, False
    for node in graph.nodes:
        if node.op in ("placeholder", "output"):
            alone = before is None if node.op == "placeholder" else node.args[0] is before
            if not alone:
                return [], "it is no chain of layers"
        else:
            module = network.get_submodule(node.target) if node.op == "call_module" else node.target
            if not node.args or node.args[0] is not before:
                return [], "it is no chain of layers"
            if isinstance(module, nn.Linear) and not linear:
                layers.append(module)
                linear = True
            elif (isinstance(module, nn.ReLU) or module in RELU) and linear:
                linear = False
            elif not isinstance(module, SILENT):
                name = module if isinstance(module, str) else type(module).__name__
                return [], f"C++ has linear layers with ReLU between them alone, and not {name}"
        before = node
    return (layers, "") if linear and len(layers) > 1 else ([], "it does not end with a layer")


def why_not(transform: Transform | None, mechanism: Mechanism) -> str:
    """Why C++ cannot compute a transform; "" where it can."""
    if transform is None:
        return NO_TRANSFORM
    if transform.boxcox == 0 or transform.floor == 0:
        return "C++ has no logarithm of Y, and no floor of 0"
    rounding = ROUNDING / transform.boxcox / transform.std[2:]
    worst = int(rounding.argmax())
    if rounding[worst] <= MOST_ROUNDING:
        return ""
    return (
        f"C++ rounds mass fractions to float32, too coarse for {mechanism.species_names[worst]} "
        f"with std = {float(transform.std[2 + worst]):.2g}; a Transform with boxcox=0.1 resolves it"
    )


def folded(
    layers: list[nn.Linear], own: Transform, of: StateTransform, columns: list[int]
) -> Network:
    """The network with the transform `own` in its first and last layer, for the inputs and targets
    of the surrogate's transform `of`; columns: those of [T, p, F(Y)] that it predicts.

    A network that predicts the state itself gets 2 n more units in each hidden layer: relu(x) and
    relu(-x), which hand x on to the last layer, where it is subtracted.
    """
    weights = [layer.weight.double() for layer in layers]
    biases = [
        torch.zeros(len(w), dtype=torch.float64) if layer.bias is None else layer.bias.double()
        for layer, w in zip(layers, weights, strict=True)
    ]
    mean, target_mean = own.mean.clone(), own.target_mean.clone()
    if own.boxcox == 1.0:  # F(Y) is Y - 1 in the surrogate
        mean[2:] -= 1.0
        if own.predicts == "state":
            target_mean[torch.tensor(columns) > 1] -= 1.0
    biases[0] = biases[0] + weights[0] @ ((of.mean - mean) / own.std)
    weights[0] = weights[0] * (of.std / own.std)
    n = len(of.mean)
    last = torch.zeros(n, weights[-1].shape[1], dtype=torch.float64)
    bias = torch.zeros(n, dtype=torch.float64)
    last[columns] = weights[-1]
    bias[columns] = biases[-1] + target_mean / own.target_std
    if own.predicts == "state":
        one, two = (torch.eye(size, dtype=torch.float64) for size in (n, 2 * n))
        zeros = torch.zeros(2 * n, dtype=torch.float64)
        weights[0] = torch.cat([weights[0], one, -one])
        weights[1:-1] = [torch.block_diag(w, two) for w in weights[1:-1]]
        biases[:-1] = [torch.cat([b, zeros]) for b in biases[:-1]]
        given = torch.zeros(n, n, dtype=torch.float64)
        given[columns] = torch.diag(of.std / of.scale)[columns]
        last = torch.cat([last, -given, given], dim=1)
        bias[columns] -= (of.mean / of.scale)[columns]
    weights[-1], biases[-1] = last, bias
    network = Network([n, *map(len, weights)])
    with torch.no_grad():
        for layer, w, b in zip(network.linear, weights, biases, strict=True):
            layer.weight.copy_(w)
            layer.bias.copy_(b)
    return network.eval()
