"""
Flame speeds
============

Laminar flame speeds of hydrogen and air over the equivalence ratio, solved by Newton's method with
generated rates and their exact Jacobian, beside Cantera's on the same grids; and the sensitivities
of one of them.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import combred

mechanism = combred.load_mechanism("h2o2.yaml")
T, p = 300.0, 101325.0  # K, Pa
phi = np.linspace(0.5, 2.5, 21)
Y = mechanism.mixture("H2:1", "O2:1, N2:3.76", phi)

# %%
# The first call compiles the library of the mechanism's flames, which is kept. Each flame starts
# from one near it.

combred.flame(mechanism, T, p, Y[10])
start = time.process_time()
speeds = combred.flame_speed(mechanism, T, p, Y)
print(f"{len(phi)} speeds: {time.process_time() - start:.2f} s of CPU time")

# %%
# Three of them by themselves, continued by Cantera on their grids.

checked = range(2, 21, 6)
flames = [combred.flame(mechanism, T, p, Y[i]) for i in checked]
cantera = []
for flame in flames:
    continued = flame.to_cantera()
    continued.solve(loglevel=0, refine_grid=False)
    cantera.append(continued.velocity[0])
    print(f"{flame.speed:.5f} m/s, Cantera {cantera[-1]:.5f} m/s, {len(flame.grid)} points")

# %%
# Profiles of one flame, and the reactions that its speed depends on most.

flame = flames[1]
sensitivities = flame.sensitivities()
equations = mechanism.solution(transport=False).reaction_equations()
largest = np.argsort(-np.abs(sensitivities))[:8]

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
left.plot(phi, speeds, "o-", ms=4, label="combred.flame_speed")
left.plot(phi[checked], cantera, "kx", ms=8, label="Cantera, on the grid of combred.flame")
left.set(xlabel="equivalence ratio", ylabel="flame speed [m/s]", ylim=(0, None))
left.legend()
front = flame.grid[np.argmax(flame.heat_release)]
x = 1e3 * (flame.grid - front)
middle.plot(x, flame.T, "k", label="T [K]")
twin = middle.twinx()
for name in ("H2", "H2O", "OH"):
    twin.plot(x, flame.Y[:, mechanism.index(name)], label=name)
middle.set(xlabel="x [mm]", ylabel="T [K]", xlim=(-1, 3), title=f"phi {phi[checked[1]]:g}")
twin.set(ylabel="Y [-]")
twin.legend()
right.barh([equations[i] for i in largest][::-1], sensitivities[largest][::-1])
right.set(xlabel=r"$d \ln S_L / d \ln A$")
plt.show()
