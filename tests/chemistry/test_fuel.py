"""Fuel and oxidizer of a mechanism: the plain ones, those asked for, spelling."""

import re

import cantera as ct
import numpy as np
import pytest

from combred.chemistry.fuel import air, choose_fuel
from combred.chemistry.mechanism import load_mechanism

DODECANE = ("nDodecane_Reitz.yaml", "nDodecane_IG")  # its names are in small letters


@pytest.mark.parametrize(
    ("file", "fuel"), [(("drm19.yaml",), "CH4:1"), (("h2o2.yaml",), "H2:1"), (DODECANE, "c12h26:1")]
)
def test_the_fuel_that_a_mechanism_was_made_for(file, fuel):
    assert choose_fuel(load_mechanism(*file)) == fuel


@pytest.mark.parametrize(
    ("file", "some"),
    [
        ("gri30.yaml", ["H2", "CH4", "NH3", "C3H8"]),
        ("example_data/ammonia-CO-H2-Alzueta-2023.yaml", ["NH3", "H2"]),
    ],
)
def test_several_fuels_are_a_question(file, some):
    with pytest.raises(ValueError, match=f"several fuels.*as in {some[0]}:1") as refused:
        choose_fuel(load_mechanism(file))
    assert all(name in str(refused.value) for name in some)
    assert "HO2" not in str(refused.value) and "C2H4" not in str(refused.value)


def test_where_no_species_is_a_fuel_the_example_is_one_of_them():
    with pytest.raises(ValueError, match="no species of air.yaml .*as in O:1"):
        choose_fuel(load_mechanism("air.yaml"))


LUMPED = "C11H22", "C4H8", "C3H6", "C2H2", "CH4", "CH3", "H"
BREAKS, LOSES = "C11H22 => 2 C4H8 + C3H6", "CH4 <=> CH3 + H"
TWO = "C11H22 => 3 C3H6 + C2H2 + 2 H", "C4H8 => C2H2 + 2 CH3"


def mechanism_of(reactions: list[str], folder):
    """Of the species of `LUMPED`, with constant heat capacities."""
    cp = "thermo: {model: constant-cp}"
    species = [f"{{name: {one}, composition: {atoms(one)}, {cp}}}" for one in LUMPED]
    rate = "rate-constant: {A: 1.0, b: 0, Ea: 0}"
    rows = [f"{{equation: {one}, {rate}}}" for one in reactions]
    (folder / "jet.yaml").write_text(
        "phases: [{name: gas, thermo: ideal-gas, elements: [C, H], kinetics: gas, "
        f"species: [{', '.join(LUMPED)}]}}]\n"
        f"species: [{', '.join(species)}]\nreactions: [{', '.join(rows)}]\n"
    )
    return load_mechanism(str(folder / "jet.yaml"))


def atoms(name: str) -> str:
    found = re.findall(r"([CH])(\d*)", name)
    return "{" + ", ".join(f"{one}: {count or 1}" for one, count in found) + "}"


def test_a_lumped_fuel_is_one_that_no_reaction_makes(tmp_path):
    """As Jet A of HyChem, which breaks into its fragments in one way, beside methane."""
    assert choose_fuel(mechanism_of([BREAKS, LOSES], tmp_path)) == "C11H22:1"
    assert choose_fuel(mechanism_of([BREAKS.replace("=>", "<=>"), LOSES], tmp_path)) == "CH4:1"
    with pytest.raises(ValueError, match="several fuels: C11H22, C4H8, CH4"):
        choose_fuel(mechanism_of([*TWO, LOSES], tmp_path))


def test_names_are_spelled_as_the_mechanism_does():
    dodecane = load_mechanism(*DODECANE)
    assert dodecane.spelled("C12H26:0.5,O2: 2") == "c12h26:0.5, o2:2"
    assert air(dodecane) == "o2:1, n2:3.76"
    one = dodecane.mixture("C12H26:1", "O2:1, N2:3.76", [0.7, 1.0])
    assert np.array_equal(one, dodecane.mixture("c12h26", "o2:1, n2:3.76", [0.7, 1.0]))
    assert np.array_equal(one[0], dodecane.mixture("c12h26:2", "o2:1, n2:3.76", 0.7))


@pytest.mark.parametrize("word", ["air", "Air", " AIR ", "air:1", {"air": 2.0}])
def test_the_word_air_is_oxygen_and_nitrogen(word):
    for mechanism in (load_mechanism("drm19.yaml"), load_mechanism(*DODECANE)):
        assert mechanism.spelled(word).upper() == "O2:1, N2:3.76"
    with pytest.raises(ValueError, match="has no species 'O2'"):
        load_mechanism("SiF4_NH3_mec.yaml").spelled(word)


def test_a_species_may_be_called_air(mechanism_of):
    mechanism = mechanism_of(COMMAS.replace('"H2,p:1"', "Air").replace("H2,p:1", "Air"))
    assert mechanism.spelled("air:0.5") == "Air:0.5"


def test_a_mixture_has_the_equivalence_ratio_asked_for(drm19):
    gas = drm19.solution()
    all_phi = np.array([0.4, 1.0, 1.8])
    for phi, Y in zip(all_phi, drm19.mixture("CH4:1", "O2:1, N2:3.76", all_phi), strict=True):
        assert np.array_equal(Y, drm19.mixture({"CH4": 1}, {"O2": 1.0, "N2": 3.76}, phi))
        gas.TPY = 300.0, ct.one_atm, Y
        # CH4 + 2 O2; float64 ratios.
        assert gas["CH4"].X / gas["O2"].X * 2 == pytest.approx(phi, rel=1e-12)
        assert gas["N2"].X / gas["O2"].X == pytest.approx(3.76, rel=1e-12)


@pytest.mark.parametrize(
    ("fuel", "oxidizer", "reason"),
    [
        ("C3H8:1", "O2:1", "has no species 'C3H8'"),
        ("CH4:x", "O2:1", "'x' moles of CH4"),
        ("CH4:-1", "O2:1", "'-1' moles"),
        ("CH4:0", "O2:1", "cannot mix them. Name a fuel that burns.* moles above 0"),
        ("CH4=1", "O2:1", "write 'CH4:1' for 'CH4=1': a colon is before an amount"),
        (
            "CH4:1",
            "O2:1; N2:3.76",
            "write 'O2:1, N2:3.76' for .*: commas are .*, not ;",
        ),
        ("CH4:1", "O2:1 N2:3.76", "write 'O2:1, N2:3.76' for .*: commas .*, not blanks alone"),
        (None, "O2:1", "a composition is text as .* or a dict of moles, not NoneType"),
        (["CH4:1"], "O2:1", "not list"),
        ("CH4:60%, H2:40 %", "O2:1", "write 'CH4:60, H2:40' for .*: amounts .* moles, without %"),
        ("CH4=1;H2=2%", "O2:1", "write 'CH4:1, H2:2' for .*not =; commas .*not ;; amounts"),
        ("CH4:1,", "O2:1", "has a comma or a colon without a species before it"),
        ("CH4:1", "air, CO2:1", "air stands for 'O2:1, N2:3.76', and only by itself"),
        ("CH4:1", "air:x", "write air, which is 'O2:1, N2:3.76' in moles"),
        ("air", "O2:1", "does not burn|cannot mix"),
        ({"CH4": "x"}, "O2:1", "'x' moles of CH4"),
        ("H2O:1", "O2:1", "does not burn"),
    ],
)
def test_no_mixture_is_an_error_with_a_remedy(drm19, fuel, oxidizer, reason):
    with pytest.raises(ValueError, match=reason):
        drm19.mixture(fuel, oxidizer, [1.0])


COMMAS = """\
phases:
- name: gas
  thermo: ideal-gas
  kinetics: gas
  species: [{gri30.yaml/species: [O2, H2O]}, {species: all}]
species: [{name: "H2,p:1", composition: {H: 2}, thermo: {model: constant-cp}}]
reactions: [{equation: "2 H2,p:1 + O2 => 2 H2O", rate-constant: [1.0, 0.0, 0.0]}]
"""


def test_names_of_species_may_have_commas(mechanism_of):
    Y = mechanism_of(COMMAS).mixture({"h2,P:1": 1.0}, {"O2": 1.0}, 1.0)
    assert Y[2] == pytest.approx(4.032 / 36.03, rel=1e-4)


@pytest.mark.parametrize("phi", [0.0, -1, np.nan, [1.0, np.inf], [[1.0, 2.0]]])
def test_an_equivalence_ratio_that_is_none_is_refused(drm19, phi):
    with pytest.raises(ValueError, match="^phi=.*give one number above 0"):
        drm19.mixture("CH4:1", "O2:1", phi)


@pytest.mark.parametrize(
    ("species", "told"),
    [
        ("[H2, H, O, O2, OH, H2O]", "no N2: name an oxidizer, as in O2:1"),
        ("[H2, H, O, OH, H2O, N2, N2O]", "no O2: name an oxidizer, as in O:1"),
    ],
)
def test_a_mechanism_without_air_is_told_an_oxidizer_that_it_has(tmp_path, species, told):
    (tmp_path / "h2.yaml").write_text(
        "phases:\n- {name: gas, thermo: ideal-gas, elements: [H, O, N], kinetics: gas,\n"
        f"   species: [{{gri30.yaml/species: {species}}}]}}\n"
        "reactions:\n- {equation: O + H2 <=> H + OH, rate-constant: {A: 1e+10, b: 0, Ea: 0}}\n"
    )
    with pytest.raises(ValueError, match=f"{told}$"):
        air(load_mechanism(str(tmp_path / "h2.yaml")))
