"""
A batch of states from numpy
============================

A flow solver hands all its cells to the chemistry at once. Here the cells are numpy arrays: their
states one time step later, with the tolerance that is asked for, and what a state costs.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
import torch

import combred

torch.set_num_threads(1)
mechanism = combred.load_mechanism("drm19.yaml")
surrogate = combred.load("drm19-38k")
cvode, dt = combred.CVODE(mechanism), 1e-6  # s

# %%
# 1200 states: ignitions on their way, caught at random, at 1 atm and at 20 atm, and with a fuel
# that the network has not seen: six parts in ten are hydrogen.

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
# ``advance`` takes and gives arrays. ``integrate`` takes states [T, p, Y] and their time steps as
# float64 tensors, and a tolerance: the largest error of a step, as a share of its change. It gives
# the next states, an error estimate over the tolerance (where it is above 1, use CVODE), and the
# number of steps that each state needed.

fig, axis = plt.subplots(figsize=(7, 4.8), layout="constrained")
for (name, states), marker in zip(groups.items(), "o^s", strict=True):
    x = torch.from_numpy(states)
    T_exact, _ = cvode.advance(states[:, 0], states[:, 1], states[:, 2:], dt)
    for tolerance in (0.1, 0.03, 0.01):
        with torch.no_grad():
            later, estimate, n = surrogate.integrate(x, x.new_full((len(x),), dt), tolerance)
        error = np.abs(later[:, 0].numpy() - T_exact)
        print(
            f"{name:24} tolerance {tolerance:<4g} {n.double().mean():5.1f} steps a state, "
            f"{100 * (estimate <= 1).double().mean():5.1f} % within it, error of T: "
            f"median {np.median(error):.3f} K, worst {error.max():.2f} K"
        )
        if tolerance == 0.03:
            axis.loglog(n, error.clip(1e-5), marker, ms=4, mfc="none", label=name)
axis.set(xlabel="steps of the surrogate in 1 us", ylabel="error of T [K]", title="tolerance 0.03")
axis.legend(fontsize=9)
plt.show()

# %%
# CPU time for each state against the size of the batch, on one core.

states = np.tile(groups["methane, 1 atm"], (10, 1))
sizes, seconds = [1, 10, 100, 1000, 4000], []
for n in sizes:
    T, p, Y = states[:n, 0], states[:n, 1], states[:n, 2:]
    surrogate.advance(T, p, Y, dt)  # warm
    started, repeats = time.process_time(), max(2, 1000 // n)
    for _ in range(repeats):
        surrogate.advance(T, p, Y, dt)
    seconds.append((time.process_time() - started) / repeats / n)
started = time.process_time()
cvode.advance(states[:400, 0], states[:400, 1], states[:400, 2:], dt)
each = (time.process_time() - started) / 400
print(f"CVODE {1e6 * each:.0f} us, surrogate {1e6 * seconds[-1]:.1f} us a state")
fig, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
axis.loglog(sizes, 1e6 * np.array(seconds), "o-", color="tab:red", label="surrogate, in Python")
axis.axhline(1e6 * each, color="black", label="CVODE, rtol 1e-8")
axis.set(xlabel="states in a batch", ylabel="CPU time per state [us]", title="cost of a state")
axis.legend()
plt.show()
