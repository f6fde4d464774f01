"""
Condensation seen
=================

Neurons of a layer that starts from small weights align in few directions while they are trained:
they condense (Chen & Xu 2024). Neurons of one direction can be merged into one. Here a small
network learns steps of hydrogen ignitions; the pictures are those of the paper's figure 3.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

import combred
from combred.kernels import group
from combred.surrogates.model.transform import StateTransform

torch.manual_seed(0)
torch.set_num_threads(1)

# %%
# The data: 60 ignitions of hydrogen, 60 steps of 2 us each, and the transforms of a surrogate.

dt, rng = 2e-6, np.random.default_rng(0)
mechanism = combred.load_mechanism("h2o2.yaml")
cvode = combred.CVODE(mechanism, rtol=1e-6, atol=1e-12)
T, p = rng.uniform(1100, 1500, 60), np.full(60, 101325.0)
Y = [mechanism.mixture("H2:1", "O2:1, N2:3.76", phi) for phi in rng.uniform(0.6, 1.4, 60)]
path = [(T, np.array(Y))]
for _ in range(60):
    path.append(cvode.advance(path[-1][0], p, path[-1][1], dt))
states = torch.tensor(np.array([np.column_stack([T, p, Y]) for T, Y in path]))
now, later = states[:-1].flatten(0, 1), states[1:].flatten(0, 1)
transform = StateTransform(mechanism.n_species, lam=0.1, floor=1e-13, power=1 / 3)
steps = torch.full((len(now),), dt, dtype=torch.float64)
transform.fit([(now, later, steps)])
x = transform.inputs(now, steps)
z = transform.target(transform.variables(later) - transform.variables(now), steps).float()

# %%
# The network, each weight drawn with the standard deviation 2 / (m_in + m_out) of equation 19.

widths = [x.shape[1], 200, 100, z.shape[1]]
layers = [nn.Linear(m, n) for m, n in zip(widths[:-1], widths[1:], strict=True)]
for layer in layers:
    nn.init.normal_(layer.weight, std=2 / (layer.in_features + layer.out_features))
    nn.init.zeros_(layer.bias)
network = nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])


def train(net: nn.Module, steps: int) -> None:
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(steps):
        batch = torch.randint(0, len(x), (256,))
        optimizer.zero_grad()
        nn.functional.l1_loss(net(x[batch]), z[batch]).backward()
        optimizer.step()


# %%
# The cosine similarity of two neurons is that of their rows [W | b] (equation 4). Neurons are
# sorted by groups of the threshold 0.9, so that a group is a block on the diagonal.


def show(axis, net: nn.Module, layer: int):
    """The similarity matrix of a hidden layer; returns the image, for the colour bar."""
    with torch.no_grad():
        rows = torch.cat([net[layer].weight, net[layer].bias[:, None]], dim=1)
        labels, mains = group(rows, threshold=0.9)
        unit = nn.functional.normalize(rows, dim=1)[labels.argsort()]
        axis.set(title=f"{len(mains)} groups", xticks=[], yticks=[])
        return axis.imshow(
            (unit @ unit.T).numpy(), vmin=-1, vmax=1, cmap="RdBu_r", interpolation="none"
        )


# %%
# The stages: as initialised; trained; layer 1 merged at 0.9; trained again. Merging layer 1 changes
# layer 2 as well: its neurons read fewer inputs, and condense, as the paper observes.

fig, axes = plt.subplots(2, 4, figsize=(12, 6.6), layout="constrained")
for stage, name in enumerate(("initialised", "trained", "layer 1 merged", "trained again")):
    if name == "trained":
        train(network, steps=1500)
    if name == "layer 1 merged":
        merged = combred.reduce(network, x[:1], method="condensation", layers=[1], threshold=0.9)
        network = merged.network
    if name == "trained again":
        train(network, steps=1500)
    shape = f"{network[0].out_features}-{network[2].out_features}"
    loss = nn.functional.l1_loss(network(x), z).item()
    print(f"{name:15} hidden layers {shape:8} loss {loss:.4f}")
    for row, layer in enumerate((0, 2)):
        image = show(axes[row, stage], network, layer)
    groups = axes[0, stage].get_title()
    axes[0, stage].set_title(f"{name}\n{shape}, loss {loss:.3f}\n{groups}")
axes[0, 0].set_ylabel("neurons of layer 1")
axes[1, 0].set_ylabel("neurons of layer 2")
fig.colorbar(image, ax=axes, label="cosine similarity", shrink=0.8)
plt.show()
