"""
A premixed flame
================

A freely propagating methane/air flame, preheated to 800 K, with CVODE and with a compiled surrogate
as its chemistry: a network, and the stiff solver behind it. Diffusion and chemistry are split after
Strang, with steps of 1 us. The grid is coarse (60 cells), so that the page builds in seconds; the
error of the grid is the same for both chemistries.
"""

import matplotlib.pyplot as plt

import combred
from combred.experiments.premixed import flame

mechanism = combred.load_mechanism("drm19.yaml")
surrogate = combred.native.compile(combred.load("drm19-38k"))

# %%
# Both start from the same profile: Cantera's ``FreeFlame``, put on cells of equal mass.

case = flame.FlameCase(T=800.0, p=101325.0, phi=1.0)  # K, Pa, -
unburnt = mechanism.mixture("CH4:1", "O2:1, N2:3.76", case.phi)
profile = flame.start(mechanism, case, unburnt, cells=60)

# %%
# ``flame.burn`` advances a profile with any chemistry until the speed is steady.

solvers = {"CVODE": combred.CVODE(mechanism, rtol=1e-6, atol=1e-10)}
solvers["surrogate"] = surrogate
flames = {name: flame.burn(mechanism, solver, 1e-6, profile) for name, solver in solvers.items()}
for name, found in flames.items():
    print(f"{name:10} {found.outcome}, {found.speed:.4f} m/s, {1e6 * found.thickness:.0f} um")
error = flames["surrogate"].speed / flames["CVODE"].speed - 1
print(f"difference {100 * error:+.2f} %")

# %%
# Profiles through both flames, distances taken from their fronts (lines: CVODE, circles:
# surrogate), and the speed while it settles. It pulsates as the front passes from cell to cell.

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
colors = {"CH4": "tab:orange", "CO": "tab:blue", "OH": "tab:green", "CH2O": "tab:purple"}
looks = {"CVODE": {"ls": "-"}, "surrogate": {"ls": "", "marker": "o", "ms": 4, "mfc": "none"}}
for name, look in looks.items():
    found = flames[name]
    x = 1e3 * (found.x - found.front_x)
    left.plot(x, found.T, color="black", label=name, **look)
    for species, color in colors.items():
        label = species if name == "CVODE" else None
        Y = found.Y[:, mechanism.index(species)]
        middle.semilogy(x, Y, color=color, label=label, **look)
for name, style in {"CVODE": "-", "surrogate": "--"}.items():
    found = flames[name]
    right.plot(1e3 * found.t, found.speeds, style, color="black", lw=1.2, label=name)
left.set(xlabel="x - x front [mm]", ylabel="T [K]", xlim=(-0.6, 0.6), title="temperature")
middle.set(xlabel="x - x front [mm]", ylabel="Y [-]", xlim=(-0.6, 0.6), ylim=(1e-6, 1))
middle.set(title="mass fractions")
right.set(xlabel="t [ms]", ylabel="flame speed [m/s]", ylim=(2.2, 2.45), title="flame speed")
left.legend()
middle.legend(ncols=4, fontsize=9, loc="upper center", columnspacing=1)
right.legend()
plt.show()
