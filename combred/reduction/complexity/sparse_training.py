"""Algorithm 1 of Guenter & Sideris, step by step: weights and theta learn, the network shrinks.

`pruning.train_sparsely` gives it the batches. Where the paper leaves a choice:

- theta is updated by Adam at a constant rate of its own and then projected onto [0, 1] (their table
  1; equation 18 has plain gradient steps). The straight-through gradient is noisy, of any scale,
  and Adam divides by this scale.
- The penalty lambda acts on weights, not on biases and batch norms.
- A layer outside of all blocks keeps its last unit, which is not masked from then on.
- A block is removed as well when a layer in it has lost every unit: nothing passes through it
  (their section 3.3).
- At the end, theta is rounded wherever it is undecided.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from combred.reduction.complexity.bernoulli_masks import DECIDED, BernoulliMasks, narrow_network
from combred.reduction.complexity.expected_cost import ComplexityIndex
from combred.reduction.complexity.residuals import find_structure
from combred.reduction.complexity.settings import Complexity
from combred.reduction.complexity.structure import Removal
from combred.reduction.network.size import count_flops, count_parameters


@dataclass(frozen=True)
class Epoch:
    """A row of the trace, after `step` steps and the removals of that step.

    loss: mean of C over the steps since the row before. complexity: J_FP. undecided: number of
    thetas in (theta_tol, 1 - theta_tol). units: left, by layer. blocks: names of those left.
    parameters and flops (two per multiply-add, for one input row): of the network.
    """

    step: int
    loss: float
    complexity: float
    undecided: int
    units: dict[str, int]
    blocks: list[str]
    parameters: int
    flops: int


class Training:
    """A copy of `network` in training, with its masks, its optimisers and its trace.

    make_optimizer: of the weights. in_training: whether any module was given in training mode.
    kept: the units left, by layer, as indices into those of the given network. removed: names of
    the blocks that are removed. Raises ValueError where nothing can be pruned.
    """

    def __init__(
        self,
        network: nn.Module,
        example_input: Tensor,
        settings: Complexity,
        make_optimizer: Callable[..., torch.optim.Optimizer],
    ):
        self.network, self.example = copy.deepcopy(network), example_input
        self.in_training = any(module.training for module in network.modules())
        if not self.in_training:
            self.network.train()
        structure = find_structure(self.network, example_input)
        self.settings, self.structure = settings, structure.only(settings.prunes)
        if not self.structure.sizes:
            raise ValueError(
                "this network has nothing to prune; why its layers are left alone:\n"
                + "\n".join(f"  {name}: {why}" for name, why in self.structure.untouched.items())
            )
        self.index = ComplexityIndex(
            self.network, example_input, self.structure, settings.beta, settings.alpha
        )
        self.device = example_input.device
        layers = self.structure.layers.items()
        self.kept = {n: torch.arange(layer.units, device=self.device) for n, layer in layers}
        self.removed: list[str] = []
        theta = torch.full((sum(self.structure.sizes.values()),), settings.theta_0)
        self.masks = BernoulliMasks(self.structure, theta.to(self.device))
        self.masks.attach(self.network, self.structure)
        self.fix_last_units()
        self.optimizer = make_optimizer(self.network.parameters())
        self.theta_optimizer = torch.optim.Adam([self.masks.theta], lr=settings.theta_rate)
        self.generator = torch.Generator(self.device).manual_seed(settings.seed)
        self.step, self.count, self.settled = 0, 0, False
        self.total = torch.zeros((), device=self.device)
        self.trace: list[Epoch] = []

    def learn(
        self,
        x: Tensor,
        y: Tensor,
        loss: Callable[[Tensor, Tensor], Tensor],
        rate: Callable[[int], float] | None = None,
    ) -> None:
        """Steps 1 to 3 of algorithm 1: train the weights (17), and theta (18) unless it is settled.

        x, y: a batch. loss(network(x), y): C. rate(step): learning rate of the weights. All masks
        are sampled once; the gradient by theta is that by the sample (straight through).
        """
        if rate is not None:
            for group in self.optimizer.param_groups:
                group["lr"] = rate(self.step)
        xi = None if self.settled else self.masks.sample(self.generator)
        C = loss(self.network(x), y)
        self.optimizer.zero_grad(set_to_none=True)
        C.backward()
        with torch.no_grad():
            for p in self.network.parameters():  # lambda W (equation 20)
                if self.settings.weight_decay and p.dim() > 1 and p.grad is not None:
                    p.grad.add_(p, alpha=self.settings.weight_decay)
        self.optimizer.step()
        if xi is not None and xi.grad is not None:
            self.learn_theta(xi.grad)
        self.total += C.detach()
        self.count, self.step = self.count + 1, self.step + 1

    def learn_theta(self, straight_through: Tensor) -> None:
        """dL/dtheta = dC/dxi + nu dJ_FP/dtheta (equation 21), a step, and the projection."""
        theta = self.masks.theta
        (complexity,) = torch.autograd.grad(self.index(theta), theta)
        gradient = straight_through + self.settings.nu * complexity
        # If the loss diverges, `record` raises; until then theta has to remain a probability.
        theta.grad = gradient.nan_to_num(0.0, 0.0, 0.0)
        self.theta_optimizer.step()
        with torch.no_grad():
            torch.maximum(theta.clamp_(max=1.0), self.masks.floor, out=theta)

    @torch.no_grad()
    def prune(self, stays: Tensor) -> None:
        """Step 4 of algorithm 1: remove units and blocks from network, masks and both optimisers.

        stays (n,): bool, in the order of theta.
        """
        if self.settled or bool(stays.all()):
            return
        removal = self.choose(self.masks.by_name(stays.clone()))
        self.structure = narrow_network(self.network, self.structure, removal, self.optimizer)
        self.masks.narrow(self.structure, removal, self.theta_optimizer)
        self.index.narrow(self.structure)
        self.kept = {name: self.kept[name][units] for name, units in removal.units.items()}
        self.removed += removal.blocks
        self.fix_last_units()

    def choose(self, stays: dict[str, Tensor]) -> Removal:
        """The removal of the units and blocks that do not stay, by name (bool, changed here), and
        of the blocks in which a layer has no unit left. A layer outside of all blocks keeps
        one."""
        chosen = {name for name in self.structure.blocks if not stays[name].any()}
        for name, layer in self.structure.layers.items():
            around = self.structure.blocks_around(layer.carriers)
            if around and not stays[name].any():
                chosen.add(around[0])
        blocks = [name for name in self.structure.blocks if name in chosen]
        units, theta = {}, self.masks.by_name(self.masks.theta)
        for name in self.structure.without(blocks).layers:
            if not stays[name].any():
                stays[name][theta[name].argmax()] = True
            units[name] = stays[name].nonzero()[:, 0]
        return Removal(units, blocks)

    @torch.no_grad()
    def fix_last_units(self) -> None:
        """Set theta = 1, for good, for the last unit of a layer outside of all blocks."""
        floor = self.masks.by_name(self.masks.floor)
        for name, layer in self.structure.layers.items():
            if layer.units == 1 and not self.structure.blocks_around(layer.carriers):
                floor[name].fill_(1.0)
        torch.maximum(self.masks.theta, self.masks.floor, out=self.masks.theta.data)
        self.masks.round()

    def settle(self) -> None:
        """Round theta (theorem 3.1: the optima are at 0 and 1); no mask acts from now on."""
        if self.settled:
            return
        self.prune(self.masks.theta >= DECIDED)
        with torch.no_grad():
            self.masks.theta.fill_(1.0)
        self.masks.round()
        self.masks.detach()
        self.settled = True

    def record(self) -> Epoch:
        """Append a row to the trace; raises FloatingPointError where the loss is not finite."""
        loss = float(self.total) / self.count if self.count else self.trace[-1].loss
        if not torch.isfinite(self.total):
            raise FloatingPointError(
                f"training diverged before step {self.step}: loss {loss}. Lower the optimiser's "
                f"rate, or nu (now {self.settings.nu}); the last checkpoint is kept."
            )
        self.total.zero_()
        self.count = 0
        theta, tol = self.masks.theta.detach(), self.settings.theta_tol
        row = Epoch(
            self.step,
            loss,
            float(self.index(theta)),
            int(((theta > tol) & (theta < 1.0 - tol)).sum()),
            {name: layer.units for name, layer in self.structure.layers.items()},
            list(self.structure.blocks),
            count_parameters(self.network),
            count_flops(self.network, self.example),
        )
        self.trace.append(row)
        return row
