"""
A batch of states from numpy
============================

A flow solver hands all its cells to the chemistry at once. Here the cells are numpy arrays: their
states one step later, how far each prediction may be wrong, which to hand to CVODE instead, and
what a state costs.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
import torch

import combred

torch.set_num_threads(1)
mechanism = combred.load_mechanism("drm19.yaml")
surrogate = combred.load("drm19-kinetics-38k")
cvode, dt = combred.CVODE(mechanism), surrogate.dt

# %%
# 1200 states: ignitions on their way, caught at random. Some lie inside the range of training,
# others at 20 atm, or burn a fuel of which six parts in ten are hydrogen.

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
    "methane, 1 atm: as trained": caught("CH4:1", 101325.0),
    "methane, 20 atm": caught("CH4:1", 20 * 101325.0),
    "CH4:0.4, H2:0.6, 1 atm": caught("CH4:0.4, H2:0.6", 101325.0),
}

# %%
# ``advance`` takes and gives arrays. ``next_state_and_error`` takes states [T, p, Y] and their time
# steps as float64 tensors, and gives the closure error beside the next states: how much the closure
# had to move the prediction so that it conserves elements and enthalpy, in units of its tolerance.
# Above 1: do not use it.

fig, axis = plt.subplots(figsize=(7, 4.8), layout="constrained")
for (name, states), marker in zip(groups.items(), "o^s", strict=True):
    T, p, Y = states[:, 0], states[:, 1], states[:, 2:]
    x = torch.from_numpy(states)
    with torch.no_grad():
        later, closure_error = surrogate.next_state_and_error(x, x.new_full((len(x),), dt))
    T_exact, Y_exact = cvode.advance(T, p, Y, dt)
    error = np.abs(later[:, 2:].numpy() - Y_exact).max(axis=1)
    share = error / (0.1 * np.abs(Y_exact - Y).max(axis=1) + 1e-4)
    trusted = closure_error <= 1
    print(
        f"{name:27} {100 * trusted.double().mean():3.0f} % trusted, {(share[trusted] > 1).sum()} "
        f"of these bad; {(share > 1).sum()} bad in all"
    )
    axis.loglog(closure_error, share, marker, ms=4, mfc="none", label=name)
axis.axvline(1, color="black", lw=1)
axis.axhline(1, color="black", lw=1, ls="--")
axis.set(xlabel="closure error [-]: trusted up to 1")
axis.set(ylabel="error of Y / (10 % of its change + 1e-4)", title="closure error and true error")
axis.legend(fontsize=9)
plt.show()

# %%
# CPU time for each state against the size of the batch, on one core.

states = np.tile(groups["methane, 1 atm: as trained"], (10, 1))
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
