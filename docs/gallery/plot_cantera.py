"""
In the words of Cantera
=======================

A sample of Cantera, with the generated solver in place of CVODE: a reactor with a clock, and states
in a ``SolutionArray``. It works the same with a compiled surrogate, or with a library that
``combred export`` has written (``combred.native.load``).
"""

import time

import cantera as ct
import matplotlib.pyplot as plt
import numpy as np

import combred

# %%
# Many states at once: a ``SolutionArray`` goes in, and one comes out. One core; Cantera takes the
# states one after another.


def fresh() -> ct.Solution:
    """Stoichiometric methane and air at 1400 K and 10 atm."""
    gas = ct.Solution("gri30.yaml")
    gas.set_equivalence_ratio(1.0, "CH4:1", "O2:1, N2:3.76")
    gas.TP = 1400.0, 10 * ct.one_atm
    return gas


solver = combred.solver("gri30.yaml")
gas = fresh()
states = ct.SolutionArray(gas, 400)
states.TPX = np.linspace(1200.0, 2200.0, 400), ct.one_atm, gas.X
combred.cantera.advance(solver, states, 1e-4)  # warm
begun = time.perf_counter()
later = combred.cantera.advance(solver, states, 1e-4)
print(f"combred: {1e6 * (time.perf_counter() - begun) / 400:.0f} us a state")
exact = ct.SolutionArray(gas, 400)
begun = time.perf_counter()
for i in range(400):
    gas.TPY = states[i].TPY
    net = ct.ReactorNet([ct.IdealGasConstPressureReactor(gas, clone=False)])
    net.advance(1e-4)
    exact[i].TPY = gas.TPY
print(f"Cantera: {1e6 * (time.perf_counter() - begun) / 400:.0f} us a state")
print(f"largest difference of T: {abs(later.T - exact.T).max():.2f} K")

# %%
# A reactor at constant volume, and Cantera's own. ``volume=True`` says so to the solver; without it
# the pressure is constant.

solver = combred.solver("gri30.yaml", volume=True)
reactor = combred.cantera.Reactor(fresh(), solver)
net = ct.ReactorNet([ct.IdealGasReactor(fresh(), clone=False)])
times = np.linspace(0.0, 4e-3, 201)[1:]
both: dict[str, list[tuple[float, float]]] = {"Cantera": [], "combred": []}
for t in times:
    reactor.advance(t)
    net.advance(t)
    phase = net.reactors[0].phase
    both["combred"].append((reactor.phase.T, reactor.phase.P))
    both["Cantera"].append((phase.T, phase.P))

figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for name, style in (("Cantera", "k-"), ("combred", "C1--")):
    T, p = np.array(both[name]).T
    axes[0].plot(1e3 * times, T, style, label=name)
    axes[1].plot(1e3 * times, p / ct.one_atm, style)
axes[0].set(xlabel="t [ms]", ylabel="T [K]")
axes[1].set(xlabel="t [ms]", ylabel="p [atm]")
axes[0].legend()
plt.show()
