"""
A batch of states from numpy
============================

A flow code advances the chemistry of all cells in one call. Here the cells are numpy arrays. The
page shows their states one step later, the network's error estimate, the states that the stiff
solver advances, and the time per state.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
import torch

import combred

torch.set_num_threads(1)
mechanism = combred.load_mechanism("drm19.yaml")
surrogate = combred.load("drm19-38k")
fast = combred.native.compile(surrogate)  # C++: the network, and the solver of the mechanism
cvode = combred.CVODE(mechanism)

# %%
# 1200 states: ignitions on their way, caught at random, at 1 atm and at 20 atm; and some of a fuel
# of which six parts in ten are hydrogen, which the network was not trained on.

rng = np.random.default_rng(0)
gas = mechanism.solution()


def caught(fuel: str, p: float, count: int = 400) -> np.ndarray:
    """States [T, p, Y] of ignitions between 1300 and 1900 K, each at a random moment."""
    n = count // 20
    T, p = rng.uniform(1300, 1900, n), np.full(n, p)
    mixtures = [mechanism.mixture(fuel, "O2:1, N2:3.76", phi) for phi in rng.uniform(0.6, 1.4, n)]
    Y, states = np.array(mixtures), []
    for _ in range(20):
        T, Y = cvode.advance(T, p, Y, rng.uniform(5e-6, 5e-5))
        states.append(np.column_stack([T, p, Y]))
    return np.concatenate(states)


groups = {
    "methane, 1 atm": caught("CH4:1", 101325.0),
    "methane, 20 atm": caught("CH4:1", 20 * 101325.0),
    "CH4:0.4, H2:0.6, 1 atm": caught("CH4:0.4, H2:0.6", 101325.0),
}

# %%
# ``next_state_and_error`` is the network alone, of float64 tensors: the states one step later, and
# the error estimate of each step over the tolerance. A step above 1 is not accepted.
#
# ``fast.integrate`` decides by this estimate: ``steps`` is 0 where the network's step was accepted;
# the solver advances the other states, with the same tolerance.

dt = 1e-6  # s
fig, axis = plt.subplots(figsize=(7, 4.8), layout="constrained")
for (name, states), marker in zip(groups.items(), "o^s", strict=True):
    T, p, Y = states[:, 0], states[:, 1], states[:, 2:]
    T_exact, Y_exact = cvode.advance(T, p, Y, dt)
    scale = np.abs(Y_exact - Y).max(axis=1) + 1e-3
    x = torch.from_numpy(states)
    with torch.no_grad():
        later, ratio = surrogate.next_state_and_error(x, x.new_full((len(x),), dt))
    share = np.abs(later[:, 2:].numpy() - Y_exact).max(axis=1) / scale
    axis.loglog(ratio * surrogate.TOLERANCE, share, marker, ms=4, mfc="none", label=name)
    found = fast.integrate(T, p, Y, dt)
    left = np.abs(found.Y - Y_exact).max(axis=1) / scale
    print(
        f"{name:24} network alone: largest error {share.max():.1e}; with the solver behind it, "
        f"which advances {(found.steps > 0).mean():.0%}: {left.max():.1e}"
    )
axis.axvline(surrogate.TOLERANCE, color="gray", ls=":")
axis.set(xlabel="error estimate of a step, relative to its change [-]")
axis.set(ylabel="error of Y, relative to its change [-]")
axis.set_title("the network alone: right of the line, the solver takes over")
axis.legend(fontsize=8)
plt.show()

# %%
# CPU time for each state against the size of the batch, on one core.

states = np.tile(groups["methane, 1 atm"], (10, 1))
sizes, seconds = [1, 10, 100, 1000, 4000], []
for n in sizes:
    T, p, Y = states[:n, 0], states[:n, 1], states[:n, 2:]
    fast.advance(T, p, Y, dt)  # warm
    started, repeats = time.process_time(), max(2, 1000 // n)
    for _ in range(repeats):
        fast.advance(T, p, Y, dt)
    seconds.append((time.process_time() - started) / repeats / n)
started = time.process_time()
cvode.advance(states[:400, 0], states[:400, 1], states[:400, 2:], dt)
each = (time.process_time() - started) / 400
print(f"CVODE {1e6 * each:.0f} us, surrogate {1e6 * seconds[-1]:.1f} us a state")
fig, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
axis.loglog(sizes, 1e6 * np.array(seconds), "o-", color="tab:red", label="surrogate, compiled")
axis.axhline(1e6 * each, color="black", label="CVODE, rtol 1e-8")
axis.set(xlabel="states in a batch", ylabel="CPU time per state [us]", title="cost of a state")
axis.legend()
plt.show()
