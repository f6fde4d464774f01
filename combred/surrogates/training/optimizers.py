"""The optimisers of a training: Adam, SOAP, and Muon for wide layers.

Takes a `Network`; gives an `Optimizers`, which the training loop steps and saves.

The features of a state are strongly correlated: temperature and some twenty mass fractions rise
and fall together. The loss is therefore steep in few directions and flat in most. Adam scales
every weight separately and is slow in the flat directions. SOAP takes Adam's step in the eigenbasis
of each layer's gradients. Muon makes the singular values of each layer's step equal
(docs/tried.md).
"""

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn

from combred.surrogates.model.network import Network

# Steps between updates of SOAP's eigenbases, as in the paper's experiments.
SOAP_EVERY = 10
# A gradient whose mean is so small moves no weight: its square root is far below Adam's eps, 1e-8.
TINY = 1e-30
# Spectral norm of Muon's step of a layer over the learning rate, for any width. At a width of 400
# the root mean square step of a weight is then 0.2 of the rate, as with Adam.
MUON_NORM = 4.0
# Muon trains the layers that have a wider side than this; SOAP has no basis for wider sides.
WIDE = 1000


class Optimizers:
    """Several torch optimisers, each for its own parameters, used as one.

    `parts`: pairs of an optimiser and the factor that multiplies its learning rate.
    """

    def __init__(self, optimizers: Iterable[tuple[torch.optim.Optimizer, float]]):
        self.parts = list(optimizers)

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of the next step."""
        for optimizer, factor in self.parts:
            for group in optimizer.param_groups:
                group["lr"] = rate * factor

    def zero_grad(self) -> None:
        """Delete the gradients."""
        for optimizer, _ in self.parts:
            optimizer.zero_grad(set_to_none=True)

    def step(self) -> None:
        """Make one step with the gradients that the parameters hold."""
        for optimizer, _ in self.parts:
            optimizer.step()

    def forget_tiny(self) -> None:
        """Set to zero what is below `TINY` in the means of the gradients.

        Those of a unit that answers to no state any more decay at each step. Below 1e-38, CPUs
        take a hundred times as long for a product of matrices."""
        for optimizer, _ in self.parts:
            for state in optimizer.state.values():
                for values in _tensors(list(state.values())):
                    values.masked_fill_(values.abs() < TINY, 0.0)

    def state_dict(self) -> list[dict]:
        """The states of all parts, for a checkpoint."""
        return [optimizer.state_dict() for optimizer, _ in self.parts]

    def load_state_dict(self, states: list[dict]) -> None:
        """Restore what `state_dict` returned."""
        for (optimizer, _), state in zip(self.parts, states, strict=True):
            optimizer.load_state_dict(state)


def _tensors(values: list) -> Iterator[Tensor]:
    """The tensors of floating-point numbers in a list, and in lists that it holds."""
    for value in values:
        if isinstance(value, list):
            yield from _tensors(value)
        elif isinstance(value, Tensor) and value.is_floating_point():
            yield value


def adam(network: Network) -> Optimizers:
    """Adam (Kingma & Ba, ICLR 2015, algorithm 1)."""
    return Optimizers([(torch.optim.Adam(network.parameters(), fused=True), 1.0)])


def soap(network: Network) -> Optimizers:
    """SOAP (Vyas et al., ICLR 2025, arXiv 2409.11321, algorithm 3): Adam in the eigenbasis of
    Shampoo's two factors of each weight matrix; Adam for biases. For an (m, n) layer a step costs
    about m n (m + n) operations, and every tenth m^3 + n^3 more: suited to widths up to 1000."""
    return Optimizers([(_soap(network.parameters(), 1 << 30), 1.0)])


def muon(network: Network) -> Optimizers:
    """Muon (Jordan et al. 2024) for the weights between hidden layers, where they are wider than
    `WIDE`: the step is the momentum of the gradients with singular values set to one by
    Newton-Schulz iteration. SOAP for all others."""
    between = [layer.weight for layer in network.layers[1:-1] if isinstance(layer, nn.Linear)]
    wide = [weight for weight in between if max(weight.shape) > WIDE]
    ids = {id(weight) for weight in wide}
    optimizers = [(_soap(p for p in network.parameters() if id(p) not in ids), 1.0)]
    if wide:
        by_norm = torch.optim.Muon(wide, weight_decay=0.0, adjust_lr_fn="original")
        optimizers.append((by_norm, MUON_NORM))
    return Optimizers(optimizers)


def _soap(parameters: Iterable[nn.Parameter], widest: int = WIDE) -> torch.optim.Optimizer:
    from pytorch_optimizer import SOAP  # takes half a second, and only trainings need it

    return SOAP(
        parameters, weight_decay=0.0, precondition_frequency=SOAP_EVERY, max_precondition_dim=widest
    )


OPTIMIZERS = {"adam": adam, "soap": soap, "muon": muon}
