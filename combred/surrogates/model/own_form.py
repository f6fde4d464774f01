"""A surrogate of any torch module: for a network, or a transform, that has no form in C++.

Takes the module and the numbers of its transform, or a module that maps a state to the state a time
step later. `model.own` chooses between this form and that of `model.forms`, which C++ has, too.
"""

from typing import Any, cast

import torch
from torch import Tensor, nn

from combred.chemistry.mechanism import Mechanism
from combred.surrogates.model.forms import StateSurrogate
from combred.surrogates.model.network import Network
from combred.surrogates.model.own_transform import Transform
from combred.surrogates.model.surrogate import Surrogate
from combred.surrogates.model.transform import StateTransform, signed_power


class OwnNetwork(nn.Module):
    """A module as the network of a surrogate. widths: inputs and outputs; why: it has no C++."""

    __jit_unused_properties__ = ["n_weights"]

    def __init__(self, module: nn.Module, widths: list[int], why: str):
        super().__init__()
        self.module, self.widths, self.why = module, widths, why

    @property
    def n_weights(self) -> int:
        """Number of weights, without biases."""
        return sum(p.numel() for p in self.module.parameters() if p.dim() > 1)

    def forward(self, x: Tensor) -> Tensor:
        """The module's answer."""
        return self.module(x)


def why_no_cpp(surrogate: Surrogate) -> str:
    """Why the network of a surrogate has no form in C++, whatever its size; "" where it has."""
    return surrogate.network.why if isinstance(surrogate.network, OwnNetwork) else ""


class Code(nn.Module):
    """Inputs and answers of a network: by a `Transform`, or without one [T, p, Y] themselves."""

    columns: Tensor
    mean: Tensor
    std: Tensor
    target_mean: Tensor
    target_std: Tensor

    def __init__(self, columns: list[int], transform: Transform | None, double: bool):
        super().__init__()
        self.plain, self.double_inputs = transform is None, double
        self.absolute = transform is None or transform.predicts == "state"
        self.power = 1.0 if transform is None else transform.power
        self.predicts_T = 0 in columns
        self.register_buffer("columns", torch.tensor(columns))
        shift = 1.0 if transform is None or transform.boxcox == 1.0 else 0.0  # of F(Y) = Y - 1
        n = len(columns)
        mean, std = torch.zeros(n), torch.ones(n)
        target_mean, target_std = mean.clone().double(), std.double()
        if transform is not None:
            mean, std = transform.mean.clone(), transform.std
            mean[2:] -= shift
            target_mean, target_std = transform.target_mean.clone(), transform.target_std
        if self.absolute:
            target_mean[torch.tensor(columns) > 1] -= shift
        for name, value in (("mean", mean), ("std", std), ("target_mean", target_mean)):
            self.register_buffer(name, value)
        self.register_buffer("target_std", target_std)

    def encode(self, state: Tensor, variables: Tensor) -> Tensor:
        """The network's inputs of states [T, p, Y] with the `variables` of the transform."""
        x = state if self.plain else (variables - self.mean) / self.std
        return x if self.double_inputs else x.to(torch.float32)

    def change(self, variables: Tensor, answer: Tensor) -> Tensor:
        """The predicted change of all variables (n, 2 + n_species); zero of others."""
        w = signed_power(answer, 1.0 / self.power) * self.target_std + self.target_mean
        if self.absolute:
            w = w - variables.index_select(1, self.columns)
        return torch.zeros_like(variables).index_copy(1, self.columns, w)


class OwnSurrogate(StateSurrogate):
    """A network of the state alone that computes in torch, and not in C++."""

    def __init__(
        self, mechanism: Mechanism, transform: StateTransform, code: Code, network: OwnNetwork
    ):
        transform.n_inputs, transform.n_outputs = network.widths[0], network.widths[-1]
        super().__init__(mechanism, transform, cast(Network, network))
        self.code = code

    def predicted_change(
        self, state: Tensor, variables: Tensor, dt: Tensor
    ) -> tuple[Tensor, Tensor]:
        """As of `Surrogate`."""
        if state.size(0) == 0:  # which a reshape to (n, -1) refuses
            return torch.zeros_like(variables), torch.zeros_like(dt)
        answer = self.network(self.code.encode(state, variables)).to(torch.float64)
        return self.code.change(variables, answer), torch.zeros_like(dt)

    def predicted_temperature(self, T: Tensor, Y: Tensor, dT: Tensor, Y_raw: Tensor) -> Tensor:
        """As of `Surrogate`; of a network without T that of the predicted Y, divided by their sum,
        at the enthalpy of the state. Its difference from T after the closure is what elements that
        are not conserved do to T."""
        if self.code.predicts_T:
            return T + dT
        thermo = self.closure.thermo
        h = thermo.enthalpy(T, Y)
        return thermo.temperature(h, Y_raw / Y_raw.sum(dim=1, keepdim=True), T)

    @torch.jit.ignore
    def network_inputs(self, states: Any) -> Tensor:
        """As of `Surrogate`; states have to be given."""
        if states is None:
            raise ValueError("calibration=None: give the states of its training")
        state = states if isinstance(states, Tensor) else torch.cat(list(states))
        self.require_states(state)
        with torch.no_grad():
            return self.code.encode(state, self.transform.variables(state))
