"""The optimisers of a training: Adam, SOAP, and Muon for the wide layers of a network.

Takes a `Network` and the name of an optimiser; gives one object that `training` steps and saves.

What a state's features have in common (temperature, and twenty mass fractions that rise and fall
together) makes the loss steep in few directions and flat in most. Adam, which scales every weight
by itself, is slow in the flat ones; SOAP takes Adam's step in the eigenbasis of each layer's
gradients, Muon makes the singular values of each layer's step equal (docs/findings.md).
"""

from collections.abc import Iterable

import torch
from torch import nn

from combred.surrogate.network import Network

# Steps between renewals of SOAP's bases, as in the paper's experiments.
SOAP_EVERY = 10
# Muon's step of a layer has this spectral norm per unit of learning rate, whatever the width; at a
# width of 400 every weight then moves by 0.2 of the rate, root mean square, as with Adam.
MUON_NORM = 4.0
# With Muon, SOAP takes the first and the last layer and keeps a basis of their narrow side alone.
NARROW = 128


class Optimizers:
    """Several torch optimisers, each of its own parameters, as one.

    `parts`: the optimisers, and the factor of the learning rate that each takes.
    """

    def __init__(self, parts: Iterable[tuple[torch.optim.Optimizer, float]]):
        self.parts = list(parts)

    def set_rate(self, rate: float) -> None:
        """The learning rate of the next step."""
        for optimizer, factor in self.parts:
            for group in optimizer.param_groups:
                group["lr"] = rate * factor

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for optimizer, _ in self.parts:
            optimizer.zero_grad(set_to_none=True)

    def step(self) -> None:
        """One step from the gradients."""
        for optimizer, _ in self.parts:
            optimizer.step()

    def state_dict(self) -> list[dict]:
        """What a training resumes from."""
        return [optimizer.state_dict() for optimizer, _ in self.parts]

    def load_state_dict(self, states: list[dict]) -> None:
        """Take up what `state_dict` gave."""
        for (optimizer, _), state in zip(self.parts, states, strict=True):
            optimizer.load_state_dict(state)


def adam(network: Network) -> Optimizers:
    """Adam (Kingma & Ba, ICLR 2015, algorithm 1)."""
    return Optimizers([(torch.optim.Adam(network.parameters(), fused=True), 1.0)])


def soap(network: Network) -> Optimizers:
    """SOAP (Vyas et al., ICLR 2025, arXiv 2409.11321, algorithm 3): Adam in the eigenbasis of
    Shampoo's two factors of each weight matrix; biases by Adam. A step costs some m n (m + n) and
    every tenth m^3 + n^3 for an (m, n) layer: for layers up to about a thousand wide."""
    return Optimizers([(_soap(network.parameters()), 1.0)])


def muon(network: Network) -> Optimizers:
    """Muon (Jordan et al. 2024) for the weights between hidden layers: the momentum of the
    gradients, its singular values set to one by Newton and Schulz's iteration. SOAP for the first
    and the last layer, on their narrow side, Adam for the biases."""
    hidden = [layer.weight for layer in network.layers[1:-1]]
    between = {id(weight) for weight in hidden}
    others = [p for p in network.parameters() if id(p) not in between]
    parts = [(_soap(others, NARROW), 1.0)]
    if hidden:
        by_norm = torch.optim.Muon(hidden, weight_decay=0.0, adjust_lr_fn="original")
        parts.append((by_norm, MUON_NORM))
    return Optimizers(parts)


def _soap(parameters: Iterable[nn.Parameter], widest: int = 1 << 30) -> torch.optim.Optimizer:
    from pytorch_optimizer import SOAP  # half a second, and wanted by trainings alone

    return SOAP(
        parameters,
        weight_decay=0.0,
        precondition_frequency=SOAP_EVERY,
        max_precondition_dim=widest,
    )


OPTIMIZERS = {"adam": adam, "soap": soap, "muon": muon}
