"""
Your own mechanism
==================

One command makes a surrogate of hydrogen/air from a mechanism file, here Cantera's ``h2o2.yaml``:
states are sampled and labelled, a network is trained, validated and exported. With few states and
steps it takes less than a minute; :doc:`/mechanism` says what an accurate surrogate needs.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import combred

# %%
# The command, as it would be typed in a shell. ``profile=smoke`` is the smallest setting there is;
# what follows it is changed.

command = [
    *("-m", "combred.pipeline", "profile=smoke", "stage=0", "run=hydrogen"),
    *("mechanism=h2o2.yaml", "sampling.fuel=H2:1", "sampling.T0=[1000,1700]"),
    *("sampling.sampler=flow", "sampling.dt=[1e-7,1e-5]", "sampling.p=[50000,500000]"),
    *("sampling.phi=[0.5,2]", "network.kinetics=true", "network.hidden=[64,64]"),
    *("network.scales=[0.5]", "training.steps=1500", "training.optimizer=soap"),
    "training.lr=6e-3",
    *("validation.T0=[1100,1200,1300]", "validation.phi=[0.7,1.0,1.4]"),
]
scratch = tempfile.TemporaryDirectory()
folder = Path(scratch.name)
done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True)
print(done.stdout)
assert done.returncode == 0, done.stderr

# %%
# The run folder holds the network, the exported file with its card, and the report.

run = folder / "runs" / "hydrogen"
print(*sorted(path.name for path in run.iterdir()), sep="\n")
surrogate = combred.load(run / "stage0.safetensors")
measured = json.loads((run / "validation.json").read_text())["stages"]["stage0"]
for name in ("network_alone", "with_solver"):
    worst = measured[name]["delay_error"]["worst"]
    print(f"{name}: worst ignition delay {100 * worst:.1f} % off")
print(f"left to the solver: {measured['left_to_solver']:.0%} of the states")

# %%
# It is used as any other, compiled with the stiff solver behind its network. Here it computes three
# ignitions in one batch, beside CVODE.

mechanism = combred.load_mechanism("h2o2.yaml")
solvers = {"CVODE": combred.CVODE(mechanism), "surrogate": combred.native.compile(surrogate)}
T0, steps, dt = [1100.0, 1200.0, 1300.0], 120, 1e-6
Y0 = mechanism.mixture("H2:1", "O2:1, N2:3.76", phi=1.0)
marched = {}
for name, solver in solvers.items():
    T, p, Y = np.array(T0), np.full(3, 101325.0), np.tile(Y0, (3, 1))
    path = [(T, Y)]
    for _ in range(steps):
        T, Y = solver.advance(T, p, Y, dt)
        path.append((T, Y))
    marched[name] = [np.array(values) for values in zip(*path, strict=True)]

# %%
# Temperature and OH; lines are CVODE, circles the surrogate.

t = 1e6 * dt * np.arange(steps + 1)
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
for i, T in enumerate(T0):
    for name, look in {"CVODE": "-", "surrogate": "o"}.items():
        found_T, found_Y = marched[name]
        every, style = (1, {}) if name == "CVODE" else (3, {"ms": 4, "mfc": "none"})
        label = f"{T:.0f} K" if name == "CVODE" else None
        OH = found_Y[::every, i, mechanism.index("OH")]
        left.plot(t[::every], found_T[::every, i], look, color=f"C{i}", label=label, **style)
        right.semilogy(t[::every], OH, look, color=f"C{i}", label=label, **style)
left.set(xlabel="t [us]", ylabel="T [K]", title="H2/air, phi 1, 1 atm")
right.set(xlabel="t [us]", ylabel="Y of OH [-]", title="lines: CVODE, circles: surrogate")
right.set(ylim=(1e-7, 1e-1))
left.legend(title="initial T", loc="lower right")
plt.show()
