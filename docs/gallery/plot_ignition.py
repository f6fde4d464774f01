"""
An ignition beside CVODE
========================

A shipped surrogate, compiled with the stiff solver behind its network, and CVODE compute the same
methane/air ignition, at 1 atm in steps of 1 us. Both have the method ``advance(T, p, Y, dt)``, so
that one loop serves both.
"""

import matplotlib.pyplot as plt
import numpy as np

import combred

# %%
# The ten lines. ``T`` and ``p`` have one entry for each state, ``Y`` one row.

mechanism = combred.load_mechanism("drm19.yaml")
surrogate = combred.native.compile(combred.load("drm19-38k"))
solvers = {"CVODE": combred.CVODE(mechanism), "surrogate": surrogate}
marched, dt = {}, 1e-6  # s; any other will do
for name, solver in solvers.items():
    T, p = np.array([1600.0]), np.array([101325.0])  # K, Pa
    Y = mechanism.mixture("CH4:1", "O2:1, N2:3.76", phi=1.0)[None]
    marched[name] = [(T[0], *Y[0])]
    for _ in range(800):
        T, Y = solver.advance(T, p, Y, dt)
        marched[name].append((T[0], *Y[0]))

# %%
# The ignition delay, to a step: where the temperature rises most.

t = dt * np.arange(801)
rows = {name: np.array(states) for name, states in marched.items()}
delay = {name: t[np.argmax(np.diff(row[:, 0]))] for name, row in rows.items()}
for name, seconds in delay.items():
    print(f"{name:10} {1e3 * seconds:.3f} ms")

# %%
# Temperature and radicals: lines are CVODE, circles every 20th step of the surrogate.

fig, (above, below) = plt.subplots(2, 1, figsize=(7, 6.5), sharex=True, layout="constrained")
ms, every = 1e3 * t, slice(0, None, 20)
circles = {"ls": "", "marker": "o", "ms": 4, "mfc": "none"}
above.plot(ms, rows["CVODE"][:, 0], color="black", label="CVODE")
above.plot(ms[every], rows["surrogate"][every, 0], color="tab:red", label="surrogate", **circles)
above.set(ylabel="T [K]", title="CH4/air, 1600 K, phi 1, 1 atm")
above.legend()
for species, color in {"OH": "tab:blue", "CH3": "tab:green", "CO": "tab:purple"}.items():
    k = 1 + mechanism.index(species)
    below.semilogy(ms, rows["CVODE"][:, k], color=color, label=species)
    below.semilogy(ms[every], rows["surrogate"][every, k], color=color, **circles)
below.set(xlabel="t [ms]", ylabel="Y [-]", ylim=(1e-9, 1), xlim=(0, ms[-1]))
below.legend(ncols=3, loc="lower right")
plt.show()
