"""Names in generated code, and orders of reactions that end with a species; one small solver."""

import json
import re

import cantera as ct
import numpy as np
import pytest
from compiled_program import ONE_STATE, compile_quickly

from combred.chemistry.mechanism import mechanism_of_text
from combred.native.arrays import comment, quoted
from combred.native.single_file import single_file
from combred.native.solver import Solver, generate
from combred.surrogates.model.kinetics import Kinetics

LONG = "x" * 10_000
HOSTILE = [
    "a\\", "a\\\\", "a??/", "*/", "/*", 'a"b', "a\'b", "#include", "R\"(x", "{name}", "%n", "é",
    "😀", LONG,
]  # fmt: skip
BURNT, AIR, ASH, OTHER, INERT = "C\\", "O😀", "D??/", 'E"', LONG


def text_of(names: list[str]) -> str:
    """A mechanism with species of these names: the first burns with the second at 0.1 kmol/m3/s,
    which does not depend on it, and the third forms the fourth."""
    species = [
        {
            "name": name,
            "composition": {"N": atoms},
            "thermo": {"model": "constant-cp", "T0": 298.15, "h0": h0, "s0": 2e5, "cp0": 3e4},
        }
        for name, atoms, h0 in zip(
            names, [1, 2, 2, 2, 2], [0.0, 0.0, -2.5e8, -2.6e8, 0.0], strict=True
        )
    ]
    fuel, air, ash, other, _ = names
    reactions = [
        {"equation": f"{fuel} + 0.5 {air} => {ash}", "rate-constant": {"A": 0.1, "b": 0, "Ea": 0},
         "orders": {fuel: 0, air: 1e-13}},
        {"equation": f"{ash} <=> {other}", "rate-constant": {"A": 1e3, "b": 0, "Ea": 1e6}},
    ]  # fmt: skip
    phase = {"name": "gas", "thermo": "ideal-gas", "elements": ["N"], "species": names}
    phase |= {"kinetics": "gas"}
    return json.dumps(
        {"phases": [phase], "species": species, "reactions": reactions}, ensure_ascii=False
    )


@pytest.fixture(scope="module")
def mechanism():
    return mechanism_of_text(text_of([BURNT, AIR, ASH, OTHER, INERT]), "names\\.yaml", "gas")


@pytest.fixture(scope="module")
def solver(mechanism, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        compile_quickly(patch, "-O0", ONE_STATE)
        return Solver(mechanism, folder=tmp_path_factory.mktemp("names"))


def test_names_do_not_change_the_code(mechanism):
    """Without comments and strings it is that of usual names."""

    def bare(files: dict[str, str]) -> list[str]:
        code = re.sub(r"//.*", "", "\n".join(files.values()))
        return re.sub(r'"(?:\\.|[^"\\])*"', "", code).split()

    known = mechanism_of_text(text_of(list("CODEF")), "m.yaml", "gas")
    assert bare(generate(mechanism)) == bare(generate(known))
    one = single_file(generate(mechanism), "x\n#error\\")
    head = one[: one.index("\n// ---")]
    assert all(line.startswith("//") and not line.endswith("\\") for line in head.splitlines())


@pytest.mark.parametrize("name", [*HOSTILE, "a\nb", "a\rb", "a\u2028b", "\ud83d"])
def test_a_comment_is_one_line_of_printable_characters(name):
    assert re.fullmatch(r"[ -\[\]-~]{1,500}", comment(name)) and "??" not in comment(name)
    assert comment("2 CH3 (+M) <=> C2H6 (+M)") == "2 CH3 (+M) <=> C2H6 (+M)"
    with pytest.raises(ValueError, match="character of value 0"):
        quoted(f"{name}\0")


def test_a_library_has_the_names_and_the_rates_of_cantera(mechanism, solver):
    library, species = solver.library, [BURNT, AIR, ASH, OTHER, INERT]
    assert library.species == list(mechanism.species_names) == species
    assert library.n == 7 and library.mechanism_sha256 == mechanism.sha256
    assert library.digest == "" and np.isnan(library.range_of("dt_range")).all()
    known = {"kind": "solver", "mechanism": "names\\.yaml", "phase": "gas", "species": species}
    assert library.card.items() >= known.items()
    gas, Y = mechanism.solution(), np.array([0.2, 0.3, 0.1, 0.15, 0.25])
    gas.TPY = 1200.0, ct.one_atm, Y
    exact = gas.net_production_rates * gas.molecular_weights / gas.density
    # 1e-13: rounding; 3e-12: the order of 1e-13, over the logarithm of a concentration.
    found = solver.rates([1200.0], ct.one_atm, Y[None])[0][0]
    assert np.allclose(found, exact, rtol=1e-11, atol=0)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
def test_a_species_of_order_0_is_used_up(mechanism, solver, tolerance):
    """The state after it is that of all of it burnt: enthalpy and elements tell T."""
    gas = mechanism.solution()
    gas.TPX = 1000.0, 1e5, {BURNT: 0.1, AIR: 2.0, INERT: 7.5}
    Y, h = gas.Y, gas.h
    T, later = solver.advance([1000.0], 1e5, Y[None], 5e-3, tolerance=tolerance)
    burnt = later[0, 2] + later[0, 3]
    moles = Y[0] / gas.molecular_weights[0]
    assert later[0, 0] < 1e-8 and burnt == pytest.approx(moles * gas.molecular_weights[2], rel=1e-6)
    gas.HPY = h, 1e5, later[0]
    assert T[0] == pytest.approx(gas.T, rel=1e-9) and T[0] > 1050.0
    Y[0] = 0.0  # none is there from the beginning
    T, later = solver.advance([1000.0], 1e5, Y[None] / Y.sum(), 1e-6, tolerance=tolerance)
    assert T[0] == 1000.0 and later[0, 0] == 0.0


def test_rates_of_order_0_are_linear_below_the_same_concentration(mechanism, solver):
    """In torch, too: an absent species is not consumed, and above 1e-13 kmol/m3 rates are
    Cantera's."""
    from torch import from_numpy

    T, p, Y = np.full(3, 1000.0), np.full(3, 1e5), np.zeros((3, 5))
    Y[:, 0], Y[:, 1] = [0.0, 1e-12, 1e-2], 0.3
    Y[:, 4] = 1.0 - Y.sum(axis=1)
    net = solver.rates(T, p, Y)[0][:, 0]
    assert net[0] == 0.0 and net[1] / net[2] == pytest.approx(1e-12 / 4.2e-12, rel=0.2)
    found = Kinetics(mechanism)(*map(from_numpy, (T, p, Y.T.copy())))[0][0].numpy()
    assert np.allclose(found, net, rtol=1e-10, atol=1e-30)
