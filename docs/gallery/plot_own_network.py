"""
A network of your own
=====================

Any torch module that advances [T, p, Y] by a time step becomes a surrogate: judged beside CVODE,
reduced, and written as TorchScript and C++. Here a small network for methane and air (DRM19) is
trained from nothing in plain torch, in half a minute. It knows a small range of states and is an
example, no network for a flow; the page judge.html says how accurate it is.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

import combred

torch.manual_seed(0)
torch.set_num_threads(1)

# %%
# The data: states along 80 ignitions near 1 atm, most of them at the beginning and while T rises.
# They are disturbed, radicals by orders of magnitude: a network has to forgive its own errors.
# The solver then gives each state 1e-6 s later.

dt, rng, n = 1e-6, np.random.default_rng(0), 60_000
solver = combred.solver("drm19.yaml")
mechanism = solver.mechanism
T, p = rng.uniform(1650, 1900, 80), rng.uniform(100e3, 103e3, 80)
Y = mechanism.mixture("CH4:1", "O2:1, N2:3.76", rng.uniform(0.8, 1.2, 80))
path = []
for _ in range(350):
    path.append(np.column_stack([T, p, Y]))
    T, Y = solver.advance(T, p, Y, dt)
path = np.array(path)
weight = np.abs(np.gradient(path[..., 0], axis=0)) + 0.3
weight[:4] += 20
states = path.reshape(-1, 23)[rng.choice(weight.size, n, p=weight.ravel() / weight.sum())]
size = np.where(rng.random((n, 1)) < 0.8, 10 ** rng.uniform(-3, 0, (n, 1)), 0)
disturbance = size * rng.uniform(-0.2, 1, (n, 22))
states[:, 0] += 100 * disturbance[:, 0]
reacts = np.flatnonzero(~mechanism.inert)
gas = states[:, 2 + reacts] ** (1 + disturbance[:, 1 + reacts])
whole = states[:, 2 + reacts].sum(1, keepdims=True)
states[:, 2 + reacts] = gas * whole / gas.sum(1, keepdims=True)
T, Y = solver.advance(states[:, 0], states[:, 1], states[:, 2:], dt)
later = np.column_stack([T, states[:, 1], Y])

# %%
# A network and its training, as anybody would write them. `combred.Transform` holds what the
# network reads and predicts: here standardised [T, p, F(Y)], F the Box-Cox transform, and the cube
# root of their change. Give it the numbers of your own training instead of `fit`. The first layer
# starts from small weights, so that its neurons condense.

transform = combred.Transform.fit(states, later, boxcox=0.1, floor=1e-13, power=1 / 3)
x, z = transform.inputs(states), transform.targets(states, later)
network = nn.Sequential(
    nn.Linear(23, 192), nn.ReLU(), nn.Linear(192, 96), nn.ReLU(), nn.Linear(96, 23)
)
nn.init.normal_(network[0].weight, std=2 / (23 + 192))
nn.init.zeros_(network[0].bias)


def train(net: nn.Module, steps: int) -> None:
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps)
    for _ in range(steps):
        batch = torch.randint(0, len(x), (512,))
        optimizer.zero_grad()
        nn.functional.l1_loss(net(x[batch]), z[batch]).backward()
        optimizer.step()
        schedule.step()


train(network, 2500)

# %%
# Condensation: neurons of layer 1 whose directions agree become one; then it is trained again.

found = combred.reduce(network, x[:1], layers=[1], threshold=0.8, calibration=x[:8192])
small = found.network
train(small, 1500)

# %%
# The surrogate: judged on the page judge.html, compiled as C++ with the solver behind the network,
# and written as TorchScript. `combred.export_surrogate(surrogate, "own", judged["card"])` does the
# last, and writes the C++ library for every x86-64 CPU, which takes a minute or two. It refuses
# errors above the limits of the card, 10 %, unless `accept=True` is given.

surrogate = combred.surrogate(small, mechanism, transform, dt=dt, states=states)
judged = combred.judge(surrogate, folder="own", T0=[1700, 1850], phi=[0.85, 1.0, 1.15])
combred.export.export_torchscript("own/surrogate.pt", surrogate, judged["card"], states[:512])
compiled = combred.native.compile(surrogate)
T, Y = compiled.advance(states[:4, 0], states[:4, 1], states[:4, 2:], dt)
for name, errors in judged["errors"].items():
    print(f"{name:35} delay, worst error {errors['delay_error']['worst']:.2%}")
print(f"units of layer 1: {found.trace[0].units_before} to {found.trace[0].units_after}; "
      f"left to the solver: {judged['solved']:.0%} of the states")  # fmt: skip
print(f"a state takes {1e6 * judged['times']['network with the solver behind it']:.1f} us in C++")

# %%
# The ignition with the largest error: the network alone and with the solver behind it.

curves = judged["curves"]["ignition"]
for name, curve in curves.items():
    if name != "case":
        plt.plot(1e3 * np.array(curve["t"]), curve["T"], label=name)
plt.xlabel("t [ms]")
plt.ylabel("T [K]")
plt.title(curves["case"])
plt.legend()
plt.show()
