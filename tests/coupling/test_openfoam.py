"""The chemistry solver in OpenFOAM: built with wmake and run in chemFoam and reactingFoam.

Runs where OpenFOAM's environment is sourced (coupling/openfoam/install.sh). chemFoam's cell is one
state at constant pressure, so that the library in Python tells what to expect.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import cantera as ct
import numpy as np
import pytest

from benchmarks import openfoam
from combred.native import NativeSurrogate
from combred.native.openfoam import case as foam_case
from combred.native.openfoam.files import OWN
from combred.native.openfoam.model import compile_model
from combred.native.openfoam.reactions import reactions
from combred.native.openfoam.thermo import thermo
from combred.native.openfoam.versions import DEBIAN

COUPLING = Path(__file__).parents[2] / "coupling"
DT = 1e-6  # s
T0, PHI = 1700.0, 1.0

pytestmark = pytest.mark.skipif(
    any(shutil.which(name) is None for name in ("wmake", "chemFoam", "reactingFoam")),
    reason="needs the environment of OpenFOAM, with its headers",
)


@pytest.fixture(scope="module")
def solver(tmp_path_factory) -> Path:
    """The library of the chemistry solver."""
    folder = tmp_path_factory.mktemp("openfoam")
    environment = os.environ | {"FOAM_USER_LIBBIN": str(folder)}
    path, version, said = compile_model(COUPLING, environment)
    assert version == DEBIAN and "warning" not in said, said
    return path


def ignition_of_python(native, drm19, t: np.ndarray) -> np.ndarray:
    """T (n,) [K] of the cell at times t (n,) [s] > 0, in steps from one to the next."""
    T, p = np.array([T0]), np.array([101325.0])
    Y, found = drm19.mixture("CH4:1", "O2:1, N2:3.76", phi=PHI)[None], []
    for dt in np.diff(t, prepend=0.0):
        T, Y = native.advance(T, p, Y, dt)
        found.append(float(T[0]))
    return np.array(found)


@pytest.mark.parametrize("adjust", ["no", "yes"])
def test_an_ignition_of_chem_foam_equals_that_of_python(solver, native, drm19, tmp_path, adjust):
    control = f"endTime 3e-4; adjustTimeStep {adjust};"
    t, T = openfoam.ignite(tmp_path, solver, str(native.library.path), T0, PHI, 3 * DT, control)
    t, T = t[t > 0], T[t > 0]
    dt = np.diff(t, prepend=0.0)
    # chemFoam begins with initialChemicalTimeStep and doubles it.
    assert dt.max() == pytest.approx(3 * DT) and (dt.min() < 1.1e-7) == (adjust == "yes")
    assert T[-1] > 2600.0
    assert np.allclose(T, ignition_of_python(native, drm19, t), rtol=2e-5)


def test_the_time_step_of_chem_foam_resolves_the_ignition(solver, libraries, tmp_path):
    """With any largest time step: T rises by some 20 K a step, and the cell ignites when CVODE's
    does, which takes longer than the first time steps grow."""
    path = str(libraries["solver"].library.path)
    control = "endTime 2e-3; adjustTimeStep yes; deltaT 1e-7;"
    t, T = openfoam.ignite(tmp_path, solver, path, T0, PHI, 1.0, control)
    assert np.diff(T).max() < 100.0 and 60 < len(t) < 200
    assert T[-1] > 2800.0 and np.diff(t).max() > 1e-4
    ((_, known),) = openfoam.by_cvode(1e-6, [(T0, PHI)])
    assert openfoam.reached(t, T) == pytest.approx(known, rel=0.005)


def test_what_the_solver_says_is_read():
    said = (
        "combred: {} cells, {} by the network, {} by the solver, {} steps a cell, at most 9, "
        "2e-06 s of CPU time, error ratio at most 0.3\n"
    )
    found = openfoam.told(said.format(1, 1, 0, "1.5e+02") + "Time = 1e-6\n")
    assert found == {"solver": 0.0, "steps": 150.0, "us": 2.0}
    found = openfoam.told(said.format(1, 1, 0, "150") + said.format(3, 1, 2, 4.5))
    assert found == {"solver": 0.5, "steps": (150.0 + 3 * 4.5) / 4, "us": 1.0}
    assert openfoam.told("Time = 1e-6") is None


@pytest.fixture
def case(solver, libraries, tmp_path):
    """chemFoam's cell over 20 steps; a function of other `combredCoeffs` gives what it says."""
    path = str(libraries["surrogate"].library.path)
    openfoam.ignite(tmp_path, solver, path, T0, PHI, DT, f"endTime {20 * DT:g};")
    for one in libraries.values():
        shutil.copy(one.library.path, tmp_path / "constant")
    file = tmp_path / "constant" / "chemistryProperties"

    def say(coefficients: str) -> str:
        entry = f"combredCoeffs {{ {coefficients} }}"
        file.write_text(re.sub(r"combredCoeffs \{.*\}", entry, file.read_text()))
        done = subprocess.run(["chemFoam"], cwd=tmp_path, capture_output=True, text=True)
        return done.stdout + done.stderr

    say.folder = tmp_path
    return say


SURROGATE, SOLVER = 'library "constant/libsurrogate.so";', 'library "constant/libsolver.so";'


def temperatures(case) -> np.ndarray:
    return np.loadtxt(case.folder / "chemFoam.out", comments="#", usecols=1)


def test_a_cell_above_the_tolerance_is_advanced_by_the_solver_from_its_old_state(case):
    strict = "tolerance 1e-5;"
    for library in (SURROGATE, SOLVER):
        said = case(library + strict)
        assert said.count("combred: 1 cells, 0 by the network, 1 by the solver, ") == 20
    T = temperatures(case)
    case(SURROGATE + strict)
    assert np.array_equal(T, temperatures(case))
    said = case(f"{SURROGATE} tolerance 1e30;")
    assert said.count("combred: 1 cells, 1 by the network, 0 by the solver, 0 steps a cell") == 20
    assert not np.allclose(T, temperatures(case), rtol=1e-9)


def test_a_smaller_tolerance_takes_more_steps(case):
    by_default, smaller = (openfoam.told(case(SOLVER + t)) for t in ("", "tolerance 1e-5;"))
    assert smaller["steps"] > by_default["steps"] + 0.2


@pytest.mark.parametrize("library", [SURROGATE, SOLVER])
def test_a_cell_that_cannot_be_advanced_ends_the_run(case, library):
    conditions = case.folder / "constant" / "initialConditions"
    conditions.write_text(conditions.read_text().replace("p 101325;", "p -101325;"))
    shutil.rmtree(case.folder / "0")  # chemFoam prefers it
    said = case(library)
    assert "FOAM FATAL ERROR" in said and "Cell 0 at (" in said and " p = -101325 Pa" in said
    assert "T = 1700" in said and ", N2 0.72" in said and "T from 100 to 6000 K" in said


@pytest.mark.parametrize(
    "coefficients, message",
    [
        ('library "constant/none.so";', "none.so is missing or cannot be read"),
        ('library "constant/thermo";', "thermo is no library of combred for this machine"),
        (f"{SOLVER} tolerance 0;", "positive and finite; this one is 0"),
        (f"{SOLVER} tolerance tight;", "expected scalar value, found"),
        (f"{SOLVER} fields maybe;", "maybe"),
        (f"{SOLVER} limit -1;", "Unknown entry limit: the entries are 4(library tolerance log"),
        ("solver 1;", "Unknown entry solver: the entries are 4(library tolerance log fields)"),
        ("log true;", "Entry 'library' not found"),
    ],
)
def test_errors_of_the_user_are_fatal_and_named(case, coefficients, message):
    said = case(coefficients)
    assert "FOAM FATAL IO ERROR" in said and message in " ".join(said.split())


def test_species_that_one_of_both_lacks_are_named(case):
    for name in ("thermo", "reactions"):
        file = case.folder / "constant" / name
        text = re.sub(r"reactions\n\{.*\}", "reactions\n{\n}", file.read_text(), flags=re.DOTALL)
        text = re.sub(r"(?<=[\s(])(CH3O|C2H6)(?=[\s)])", r"X\1", text)
        file.write_text(text)
    said = " ".join(case(SOLVER).split())
    assert "FOAM FATAL IO ERROR" in said and "lacks the species 2(CH3O C2H6)" in said
    assert "The library has no 2(XCH3O XC2H6)" in said and "belongs into the mechanism" in said


@pytest.mark.parametrize(
    "before, after", [("molWeight 28.01", "molWeight 28.41"), ("molWeight 31.99", "molWeight 30.0")]
)
def test_other_molar_masses_are_refused(case, before, after):
    thermo = case.folder / "constant" / "thermo"
    text = thermo.read_text()
    assert before in text
    thermo.write_text(text.replace(before, after))
    said = " ".join(case(SOLVER).split())
    assert "FOAM FATAL IO ERROR" in said and "Case and library differ in the thermodynamics" in said


def test_other_heats_of_formation_are_refused(case):
    """The sixth coefficient of methane 200 K higher: 100 kJ/kg."""
    thermo = case.folder / "constant" / "thermo"
    text = thermo.read_text()
    own = text.index("\nCH4\n")
    low = re.search(r"lowCpCoeffs \( (.*?) \)", text[own:])
    a = low[1].split()
    changed = " ".join([*a[:5], str(float(a[5]) + 200.0), a[6]])
    thermo.write_text(text[:own] + text[own:].replace(low[1], changed, 1))
    said = " ".join(case(SOLVER).split())
    assert "differ in the thermodynamics of CH4: molar mass 16.04" in said


def test_tdac_tabulation_and_reduction_are_refused(case):
    """The latter two as the Foundation's versions have them."""
    file = case.folder / "constant" / "chemistryProperties"
    text, names = file.read_text(), ("tabulation", "reduction")
    wrong = {
        text.replace("solver combred;", f"solver combred; {more}"): "remove the method TDAC from"
        for more in ("method TDAC;", "TDAC on;")
    }
    for name in names:
        wrong[f"{text}\n{name} {{ method ISAT; }}\n"] = f"write `method none;` in {name}"
    for changed, told in wrong.items():
        file.write_text(changed)
        said = " ".join(case(SOLVER).split())
        assert "FOAM FATAL IO ERROR" in said and told in said
    file.write_text(text + "".join(f"\n{name} {{ method none; }}\n" for name in names))
    assert "FATAL" not in case(SOLVER)


def test_a_first_species_of_one_range_changes_nothing(case, drm19):
    """OpenFOAM takes its `Tcommon` for the mixture."""
    case(SOLVER)
    known, gas = temperatures(case), drm19.solution()
    argon = gas.species("AR")
    argon.thermo = ct.NasaPoly2(
        200.0, 6000.0, argon.thermo.reference_pressure, [6000.0, *argon.thermo.coeffs[1:]]
    )
    others = [one for one in gas.species() if one.name != "AR"]
    gas = ct.Solution(
        thermo="ideal-gas", kinetics="gas", species=[argon, *others], reactions=gas.reactions()
    )
    gas.transport_model = "mixture-averaged"
    for name, text in (("thermo", thermo(gas)), ("reactions", reactions(gas))):
        (case.folder / "constant" / name).write_text(OWN + text)
    case(SOLVER)
    assert np.allclose(temperatures(case), known, rtol=1e-8)


@pytest.fixture
def cells(native, drm19, tmp_path):
    """A function: 30 states of an ignition as cells of reactingFoam, for one step of 1e-9 s, with a
    combustion model, chemistry in some way and more coefficients; what reactingFoam says."""
    T, p, Y = np.array([T0]), np.array([101325.0]), drm19.mixture("CH4:1", "O2:1, N2:3.76", PHI)
    rows = [(T, Y[None])]
    while len(rows) < 30:
        rows.append(native.advance(rows[-1][0], p, rows[-1][1], 1.2e-5))
    states = tuple(np.concatenate(part) for part in zip(*rows, strict=True))
    assert states[0][-1] > 2500.0

    def run(solver, model: str, way: str, more: str = "") -> str:
        control = "endTime 1e-9; writeInterval 1;"
        openfoam.write_case(tmp_path, solver, way, 1e-9, control)
        openfoam.write_flame(tmp_path, *states, drm19.species_names)
        openfoam.write(tmp_path, "constant/combustionProperties", f"{model}\n")
        file = tmp_path / "constant/chemistryProperties"
        file.write_text(file.read_text().replace("combredCoeffs {", f"combredCoeffs {{ {more}"))
        openfoam.run(tmp_path, "blockMesh")
        return openfoam.run(tmp_path, "reactingFoam")

    run.folder, run.states = tmp_path, states
    return run


@pytest.fixture(scope="module")
def closed(drm19) -> tuple[float, float]:
    """Of CVODE's closed adiabatic cell: time [s] of `openfoam.reached`, and T [K] at .3 ms."""
    gas = drm19.solution()
    gas.TPY = T0, ct.one_atm, drm19.mixture("CH4:1", "O2:1, N2:3.76", PHI)
    reactor = ct.IdealGasReactor(gas, clone=False)
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = 1e-9, 1e-16
    t, T = 1e-6 * np.arange(301), [T0]
    for time in t[1:]:
        net.advance(time)
        T.append(reactor.T)
    return openfoam.reached(t, np.array(T)), T[-1]


@pytest.mark.parametrize(
    "correctors, steps", [(1, "even"), (2, "even"), (3, "even"), (3, "uneven")]
)
def test_outer_correctors_keep_the_ignition_of_a_closed_cell(
    solver, libraries, drm19, closed, tmp_path, correctors, steps
):
    """Each chemistry starts from the beginning of its time step, also where steps change."""
    control = "endTime 3e-4; writeInterval 1000; functions { T { type probes; libs (sampling); "
    control += "fields (T); probeLocations ((0.005 0 0)); } }"
    if steps == "uneven":  # the first of them 1e-6 s, growing by 1.2
        control = f"deltaT 1e-6; adjustTimeStep yes; maxCo 1e9; {control}"
    path = str(libraries["solver"].library.path)
    openfoam.write_case(tmp_path, solver, path, 2e-6, control)
    Y = drm19.mixture("CH4:1", "O2:1, N2:3.76", PHI)[None]
    openfoam.write_flame(tmp_path, np.array([T0]), Y, drm19.species_names)
    walls = {"open": "type noSlip;", "closed": "type noSlip;", "sides": "type empty;"}
    openfoam.write_field(tmp_path, "U", "[0 1 -1 0 0 0 0]", np.zeros((1, 3)), walls)
    shut = {patch: entry.replace("noSlip", "zeroGradient") for patch, entry in walls.items()}
    openfoam.write_field(tmp_path, "p", "[1 -1 -2 0 0 0 0]", ct.one_atm, shut)
    for name, before, after in (
        ("system/fvSolution", "nOuterCorrectors 1;", f"nOuterCorrectors {correctors};"),
        ("system/fvSolution", "(U|h|Yi)", "(U|e|Yi)"),
        ("constant/thermophysicalProperties", "sensibleEnthalpy", "sensibleInternalEnergy"),
    ):
        text = (tmp_path / name).read_text()
        assert before in text
        (tmp_path / name).write_text(text.replace(before, after))
    openfoam.run(tmp_path, "blockMesh")
    said = openfoam.run(tmp_path, "reactingFoam")
    t, T = np.loadtxt(tmp_path / "postProcessing/T/0/T", comments="#").T
    assert said.count("combred: 1 cells") == len(t) >= 150
    delay, last = closed
    assert openfoam.reached(t, T) == pytest.approx(delay, rel=0.003)
    assert T[-1] == pytest.approx(last, abs=1.0)


def test_chemical_time_scales_are_those_of_openfoam(solver, native, cells):
    """By kappa = tc / (tc + tk) of PaSR, in which tk is the same for both. Gas constants differ by
    1e-6."""
    kappa = []
    for way in (str(native.library.path), "ode"):
        cells(solver, "combustionModel PaSR; PaSRCoeffs { Cmix 3e-9; }", way)
        kappa.append(openfoam.internal(cells.folder, "1e-09", "PaSR<psiReactionThermo>:kappa", 30))
    ours, theirs = kappa
    inside = theirs < 0.9999  # the others are written with too few digits
    assert inside.sum() > 25 and theirs.min() < 0.2 < 0.9 < theirs[inside].max()
    tc, known = ours[inside] / (1.0 - ours[inside]), theirs[inside] / (1.0 - theirs[inside])
    assert np.allclose(tc, known, rtol=1e-5)


def test_fields_of_steps_and_errors_are_written(solver, native, cells):
    T, Y = cells.states
    path = str(native.library.path)
    said = cells(solver, "combustionModel laminar;", path, "fields yes;")
    known = native.integrate(T, np.full(30, 101325.0), Y, 1e-9)
    found = {
        name: openfoam.internal(cells.folder, "1e-09", f"combred:{name}", 30)
        for name in ("steps", "error")
    }
    assert np.array_equal(found["steps"], known.steps)
    assert np.allclose(found["error"], known.error, rtol=0.05, atol=1e-6)
    assert f"at most {known.steps.max()}, " in said
    (ratio,) = re.findall(r"error ratio at most (\S+)", said)
    assert float(ratio) == pytest.approx(found["error"].max(), rel=1e-4)
    cells(solver, "combustionModel laminar;", path)
    shutil.rmtree(cells.folder / "1e-09")
    openfoam.run(cells.folder, "reactingFoam")
    assert not (cells.folder / "1e-09" / "combred:steps").exists()


def test_instantaneous_rates_are_refused(solver, libraries, cells):
    """Nothing would burn with reactions that OpenFOAM does not know."""
    path = str(libraries["solver"].library.path)
    model = "combustionModel laminar; laminarCoeffs { integrateReactionRate no; }"
    with pytest.raises(RuntimeError, match="FATAL IO ERROR[^~]*remove `integrateReactionRate no`"):
        cells(solver, model, path)


def test_the_tutorial_burns(solver, native, drm19, tmp_path):
    """Two milliseconds of it, without the export of the library."""
    shutil.copytree(COUPLING / "openfoam/tutorials/counterflow", tmp_path, dirs_exist_ok=True)
    foam_case.export_case(drm19, tmp_path, "libsolver.so", lambda _: [])
    shutil.copy(native.library.path, tmp_path / "constant/libsolver.so")
    control = tmp_path / "system/controlDict"
    text = control.read_text().replace("libcombredChemistry.so", str(solver))
    control.write_text(text.replace("endTime 0.1;", "endTime 0.002;"))
    openfoam.run(tmp_path, "blockMesh")
    said = openfoam.run(tmp_path, "reactingFoam")
    T = [float(value) for value in re.findall(r"min/max\(T\) = \S+, (\S+)", said)]
    assert 2400.0 < T[-1] < 2900.0 and "janafThermo" not in said  # no warning of a range
    share = openfoam.told(said)["solver"]
    assert 0.0 < share < 1.0 if isinstance(native, NativeSurrogate) else share == 1.0
