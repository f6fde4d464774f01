"""Algorithm 1 of Guenter & Sideris, step by step: weights and theta learn, the network shrinks.

Takes a network, `Complexity` and batches one at a time; leaves the network trained and smaller, and
a trace. `complexity.train_sparsely` drives it and can be resumed.

Where the paper leaves a choice: theta goes by Adam at a constant rate of its own and is then
projected onto [0, 1] (their table 1; equation 18 has plain gradient steps): the straight-through
gradient is noise of any scale, which Adam divides by. The penalty lambda acts on weights, not on
biases and batch norms. A layer outside of all blocks keeps its last unit, which is from then on
not masked. A block goes too when a layer in it has lost every unit: nothing passes (their section
3.3). What is undecided in the end is rounded.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from combred.reduction.complexity.bernoulli_masks import (
    DECIDED,
    BernoulliMasks,
    follow,
    index_network,
)
from combred.reduction.complexity.expected_cost import ComplexityIndex, index_of
from combred.reduction.complexity.residuals import find_structure
from combred.reduction.complexity.structure import shrink
from combred.reduction.size import count_flops, count_parameters


@dataclass(frozen=True)
class Complexity:
    """What is minimised, C(W, theta) + lambda/2 |W|^2 + nu J_FP (equation 15), and how.

    nu: the price of the whole network, in units of the loss. beta: the weight of operations,
    1 - beta that of parameters (above 1 these are rewarded; their table 5 has 1.7). alpha: the
    weight of blocks. weight_decay: lambda. theta_0: every theta at the start (theirs: 1 on
    ImageNet, 0.75 on CIFAR); theta_rate: Adam's rate for theta (theirs: 1e-3 to 5e-3);
    theta_tol: what is at most this is removed, after every `prune_every` steps (their epoch).
    settle_after: the step after which theta is rounded and the weights alone train on (not in the
    paper; None: rounded at the end). seed: of the masks' samples.
    """

    nu: float
    beta: float = 0.5
    alpha: float = 0.0
    weight_decay: float = 1e-4
    theta_0: float = 1.0
    theta_rate: float = 2e-3
    theta_tol: float = 0.1
    prune_every: int = 100
    settle_after: int | None = None
    seed: int = 0

    def __post_init__(self):
        wrong = []
        if not (self.nu >= 0 and self.alpha >= 0 and self.weight_decay >= 0):
            wrong.append("nu, alpha and weight_decay must not be negative")
        if not 0 <= self.beta <= 2:
            wrong.append("beta must lie in [0, 2]")
        if not 0 <= self.theta_tol < DECIDED:
            wrong.append(f"theta_tol must lie in [0, {DECIDED})")
        if not self.theta_tol < self.theta_0 <= 1:
            wrong.append("theta_0 must lie above theta_tol, up to 1")
        if not 0 < self.theta_rate < 1:
            wrong.append("theta_rate must lie in (0, 1)")
        if self.prune_every < 1 or (self.settle_after is not None and self.settle_after < 0):
            wrong.append("prune_every must be at least 1, settle_after not negative")
        if wrong:
            raise ValueError(f"{'; '.join(wrong)}: {self}")


@dataclass(frozen=True)
class Epoch:
    """How far a training is after `step` steps, behind the removals of that step.

    loss: mean of C over the steps since the row before. complexity: J_FP; undecided: thetas in
    (theta_tol, 1 - theta_tol); units: by layer; blocks: those left. parameters and flops (two per
    multiply-add, for one input row) as counted on the network; value: what `evaluate` gave.
    """

    step: int
    loss: float
    complexity: float
    undecided: int
    units: dict[str, int]
    blocks: list[str]
    parameters: int
    flops: int
    value: float | None = None


class Training:
    """A copy of `network` in training: its masks, its optimisers, and how far it is.

    kept: the units left, by layer, as indices of those of the network given; removed: its blocks
    that are gone. Raises ValueError where there is nothing to prune.
    """

    def __init__(
        self,
        network: nn.Module,
        example_input: Tensor,
        settings: Complexity,
        make_optimizer: Callable[..., torch.optim.Optimizer],
        blocks: Sequence[str] | None = None,
        evaluate: Callable[[nn.Module], float] | None = None,
    ):
        self.network, self.example = copy.deepcopy(network).train(), example_input
        self.settings, self.make_optimizer, self.evaluate = settings, make_optimizer, evaluate
        self.structure = find_structure(self.network, example_input, blocks)
        if not self.structure.sizes:
            raise ValueError(
                "this network has nothing to prune; its layers are left alone for a reason:\n"
                + "\n".join(f"  {name}: {why}" for name, why in self.structure.untouched.items())
            )
        self.index, self.costs, self.totals = index_of(
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
        self.make_optimizers()
        self.generator = torch.Generator(self.device).manual_seed(settings.seed)
        self.step, self.count, self.settled = 0, 0, False
        self.total = torch.zeros((), device=self.device)
        self.trace: list[Epoch] = []

    def make_optimizers(self) -> None:
        """Fresh optimisers, of the network and the masks as they are."""
        self.optimizer = self.make_optimizer(self.network.parameters())
        self.theta_optimizer = torch.optim.Adam([self.masks.theta], lr=self.settings.theta_rate)

    # -- steps 1 to 3 of algorithm 1

    def learn(
        self,
        x: Tensor,
        y: Tensor,
        loss: Callable[[Tensor, Tensor], Tensor],
        rate: Callable[[int], float] | None = None,
    ) -> None:
        """One step of the weights (17), and of theta (18) unless it is settled, with one sample of
        all masks; the masks' gradient is that of the sample (straight through)."""
        if rate is not None:
            for group in self.optimizer.param_groups:
                group["lr"] = rate(self.step)
        xi = None if self.settled else self.masks.sample(self.generator)
        C = loss(self.network(x), y)
        self.optimizer.zero_grad(set_to_none=True)
        C.backward()
        self.decay_weights()
        self.optimizer.step()
        if xi is not None and xi.grad is not None:
            self.learn_theta(xi.grad)
        self.total += C.detach()
        self.count, self.step = self.count + 1, self.step + 1

    @torch.no_grad()
    def decay_weights(self) -> None:
        """Add lambda W to the gradients (equation 20)."""
        weights = [p for p in self.network.parameters() if p.dim() > 1 and p.grad is not None]
        if self.settings.weight_decay and weights:
            gradients = [p.grad for p in weights]
            torch._foreach_add_(gradients, weights, alpha=self.settings.weight_decay)

    def learn_theta(self, straight_through: Tensor) -> None:
        """dL/dtheta = dC/dxi + nu dJ_FP/dtheta (equation 21), a step, and the projection."""
        theta = self.masks.theta
        (complexity,) = torch.autograd.grad(self.index(theta), theta)
        gradient = straight_through + self.settings.nu * complexity
        # Where the loss diverged, `record` says so; theta must stay one that can be drawn from.
        theta.grad = gradient.nan_to_num(0.0, 0.0, 0.0)
        self.theta_optimizer.step()
        with torch.no_grad():
            torch.maximum(theta.clamp_(max=1.0), self.masks.floor, out=theta)

    # -- step 4

    @torch.no_grad()
    def prune(self, stays: Tensor) -> None:
        """Remove what does not stay (n,), from the network, the masks and both optimisers."""
        if self.settled or bool(stays.all()):
            return
        by_name = self.masks.by_name(stays.clone())
        removed = self.choose_blocks(by_name)
        left = self.structure.without(removed)
        for name in left.layers:
            if not by_name[name].any():  # not in a block, or it would be gone
                by_name[name][self.masks.by_name(self.masks.theta)[name].argmax()] = True
        kept = {name: by_name[name].nonzero()[:, 0] for name in left.layers}
        old = dict(self.network.named_parameters(remove_duplicate=False))
        indices = index_network(self.network)
        shrink(indices, self.structure, kept, removed)
        self.structure = shrink(self.network, self.structure, kept, removed)
        moved: dict[Tensor, tuple[Tensor, Tensor] | None] = dict.fromkeys(old.values())
        entries = dict(indices.named_parameters(remove_duplicate=False))
        for name, p in self.network.named_parameters(remove_duplicate=False):
            moved[old[name]] = p, entries[name].detach().long()
        follow(self.optimizer, moved)
        self.kept = {name: self.kept[name][kept[name]] for name in left.layers}
        self.removed += removed
        flat = [s if name in left.sizes else s & False for name, s in by_name.items()]
        self.narrow_gates(torch.cat(flat).nonzero()[:, 0])

    def choose_blocks(self, stays: dict[str, Tensor]) -> list[str]:
        """Blocks whose mask does not stay, or in which a layer has no unit that stays."""
        chosen = {name for name in self.structure.blocks if not stays[name].any()}
        for name, layer in self.structure.layers.items():
            around = self.structure.blocks_around(layer.carriers)
            if around and not stays[name].any():
                chosen.add(around[0])
        return [name for name in self.structure.blocks if name in chosen]

    def narrow_gates(self, left: Tensor) -> None:
        """Gates (indices `left`), index and theta's optimiser for the structure that is left."""
        old, floor = self.masks.theta, self.masks.floor[left]
        self.masks.resize(self.structure, old[left])
        self.masks.floor = floor
        follow(self.theta_optimizer, {old: (self.masks.theta, left)})
        self.narrow_index()
        self.fix_last_units()

    def narrow_index(self) -> None:
        """The index of what is left, in the units of the unreduced network."""
        how = self.totals, self.settings.beta, self.settings.alpha, self.device
        self.index = ComplexityIndex(self.costs, self.structure, *how)

    @torch.no_grad()
    def fix_last_units(self) -> None:
        """The last unit of a layer outside of all blocks is not masked: theta = 1 from now on."""
        floor = self.masks.by_name(self.masks.floor)
        for name, layer in self.structure.layers.items():
            if layer.units == 1 and not self.structure.blocks_around(layer.carriers):
                floor[name].fill_(1.0)
        torch.maximum(self.masks.theta, self.masks.floor, out=self.masks.theta.data)
        self.masks.round()

    def settle_if_due(self) -> None:
        """Round theta once `settle_after` steps are done."""
        after = self.settings.settle_after
        if after is not None and self.step >= after and not self.settled:
            self.settle()

    def settle(self) -> None:
        """Round theta (theorem 3.1: the optima are at 0 and 1); from here on no mask acts."""
        self.prune(self.masks.theta >= DECIDED)
        with torch.no_grad():
            self.masks.theta.fill_(1.0)
        self.masks.round()
        self.masks.detach()
        self.settled = True

    # -- the trace

    def record(self) -> Epoch:
        """A row of the trace. FloatingPointError where the loss has not stayed finite."""
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
            self.value(),
        )
        self.trace.append(row)
        return row

    @torch.no_grad()
    def value(self) -> float | None:
        """What the caller's `evaluate` says of the network with theta rounded."""
        if self.evaluate is None:
            return None
        self.masks.round()
        value = float(self.evaluate(self.network.eval()))
        self.network.train()
        return value
