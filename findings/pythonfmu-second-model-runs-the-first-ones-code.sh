#!/bin/bash
# Question: can one process simulate two FMUs of pythonfmu whose scripts have the same name (two versions of reactor.py)?
# Guess (50 %): each runs its own code, since each FMU carries its script in its own resources folder.
# What happens: the second FMU runs the code of the first, silently: a reactor that cools by 100 K/s heats by 1 K/s. Python imports the
#   module "reactor" once a process; the FMU's folder only decides which of them is found first. The same happens after an FMU was
#   edited and built again while a notebook goes on: the old code runs. In a fresh process the FMU is right.
# Version: pythonfmu 0.7.0, fmpy 0.3.32, numpy 2.4.6.
# Who meets it: who couples two reactors or burners as FMUs, or changes a model and simulates again in the same session.
# Instead: another file name (and class name) for every FMU and version, or one process for each simulation.
# Date: 2026-11-29
set -eu
command -v python3 >/dev/null || { echo "NOT CHECKED: needs python3"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --no-deps --target "$folder/site" numpy==2.4.6 pythonfmu==0.7.0 fmpy==0.3.32 \
  attrs==26.1.0 lark==1.3.1 lxml==6.1.3 msgpack==1.2.4 2>"$folder/log" ||
  { echo "NOT CHECKED: the packages cannot be installed here"; exit 0; }
export PYTHONPATH="$folder/site"
mkdir "$folder/heated" "$folder/cooled"
cat > "$folder/heated/reactor.py" <<'MODEL'
from pythonfmu import Fmi2Causality, Fmi2Slave, Real


class Reactor(Fmi2Slave):
    slope = 1.0  # K/s

    def __init__(self, **settings):
        super().__init__(**settings)
        self.T = 300.0
        self.register_variable(Real("T", causality=Fmi2Causality.output))

    def do_step(self, time, step):
        self.T += self.slope * step
        return True
MODEL
sed 's/slope = 1.0/slope = -100.0/' "$folder/heated/reactor.py" > "$folder/cooled/reactor.py"
for name in heated cooled; do
  python3 -m pythonfmu build -f "$folder/$name/reactor.py" -d "$folder/$name" > "$folder/log"
done
python3 - "$folder" <<'PYTHON'
import importlib.metadata
import subprocess
import sys

import fmpy

print("pythonfmu", importlib.metadata.version("pythonfmu"), "fmpy", fmpy.__version__)
folder = sys.argv[1]


def last(name):
    return float(fmpy.simulate_fmu(f"{folder}/{name}/Reactor.fmu", stop_time=1, output=["T"])["T"][-1])


command = f"import fmpy; print(fmpy.simulate_fmu('{folder}/cooled/Reactor.fmu', stop_time=1, output=['T'])['T'][-1])"
alone = float(subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout)
heated, cooled = last("heated"), last("cooled")
print("T after 1 s: heated %.2f; cooled, second in the process %.2f; cooled, in a process of its own %.2f" % (heated, cooled, alone))
assert abs(heated - 301) < 1e-6 and abs(alone - 200) < 1e-6 and abs(cooled - 301) < 1e-6
print("PASS")
PYTHON
