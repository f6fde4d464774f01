"""Mechanism: its constants against Cantera, its hash, and the files that are refused."""

from pathlib import Path

import cantera as ct
import numpy as np
import pytest

from combred.chemistry.mechanism import load_mechanism
from combred.chemistry.transport import lacking
from combred.native import export


def cantera_text(name: str) -> str:
    """The text of a mechanism that Cantera ships."""
    folders = (Path(d) / name for d in ct.get_data_directories())
    return next(f for f in folders if f.is_file()).read_text()


@pytest.mark.parametrize(
    "file, phase, found, n_reactions",
    [
        ("h2o2.yaml", "", "ohmech", 29),  # the first
        ("h2o2.yaml", "ohmech", "ohmech", 29),
        ("nDodecane_Reitz.yaml", "", "nDodecane_IG", 553),  # beside a Redlich-Kwong gas
        ("SiF4_NH3_mec.yaml", "", "gas", 33),  # beside a surface
        ("example_data/ammonia-CO-H2-Alzueta-2023.yaml", "", "baseline", 281),
        ("example_data/ammonia-CO-H2-Alzueta-2023.yaml", "linear-Burke", "linear-Burke", 281),
    ],
)
def test_a_phase_is_the_one_named_or_the_first_reacting_ideal_gas(file, phase, found, n_reactions):
    mechanism = load_mechanism(file, phase)
    assert mechanism is load_mechanism(file, phase)  # read once
    gas = mechanism.solution()
    assert mechanism.phase == found == gas.name
    assert gas.thermo_model == "ideal-gas" and gas.n_reactions == n_reactions


def test_an_unknown_phase_lists_those_of_the_file():
    with pytest.raises(ValueError, match=r"h2o2.yaml' has no phase 'gas': give ohmech$"):
        load_mechanism("h2o2.yaml", "gas")
    with pytest.raises(ValueError, match=r"ideal gas.*Redlich-Kwong.*its phase ohmech$"):
        load_mechanism("h2o2.yaml", "ohmech-RK")
    with pytest.raises(FileNotFoundError, match="drm91.yaml"):
        load_mechanism("drm91.yaml", "gas")


def test_reactions_of_a_surface_are_left_out_with_a_word(tmp_path, caplog):
    with pytest.raises(ValueError, match="ideal-surface, 24 reactions.*or its phase gas$"):
        load_mechanism("ptcombust.yaml", "Pt_surf")
    file = tmp_path / "pt.yaml"
    file.write_text(cantera_text("ptcombust.yaml"))
    for phase in ("", "", "gas"):  # read once; then a phase that the user has named
        load_mechanism(file, phase)
    told = "pt.yaml: phase gas is taken; reactions of Pt_surf are left out"
    assert caplog.text.count(told) == len(caplog.records) == 1


@pytest.mark.parametrize("name", ["drm19.yaml", "h2o2.yaml"])
def test_inert_are_the_species_whose_rates_vanish_in_any_mixture(name):
    mechanism = load_mechanism(name)
    gas = mechanism.solution()
    gas.TPY = 1800.0, ct.one_atm, np.full(gas.n_species, 1 / gas.n_species)
    # A net rate of zero needs both rates to vanish; no reactive species balances exactly here.
    still = gas.net_production_rates == 0
    assert {n for n, s in zip(gas.species_names, still, strict=True) if s} == {"N2", "AR"}
    assert np.array_equal(mechanism.inert, still)


def test_element_masses_are_cantera_s(mechanism, path):
    gas = mechanism.solution()
    for T, p, Y in zip(path.T[::10], path.p[::10], path.Y[::10], strict=True):
        gas.TPY = T, p, Y
        expected = [gas.elemental_mass_fraction(e) for e in mechanism.element_names]
        # Sums of some twenty products in float64.
        assert np.allclose(mechanism.elements @ gas.Y, expected, rtol=0, atol=1e-14)


def test_the_range_of_the_polynomials_is_cantera_s(mechanism):
    species = mechanism.solution().species()
    assert mechanism.T_min == max(s.thermo.min_temp for s in species)
    assert mechanism.T_max == min(s.thermo.max_temp for s in species)
    T_mid = mechanism.T_breaks
    assert mechanism.T_min < T_mid.min() and T_mid.max() < mechanism.T_max


def test_hash_does_not_depend_on_comments_layout_and_notes(tmp_path):
    text = cantera_text("h2o2.yaml")
    noted = text.replace("note: TPIS78", "note: seen by nobody")
    assert noted != text
    copies = {
        "comments": "# a remark\n" + text.replace("\nreactions:", "\n# more\n\n\nreactions:"),
        "description": text.replace("description: |-", "description: |-\n  Something else."),
        "notes": noted,
    }
    hashes = {}
    for name, content in copies.items():
        (tmp_path / f"{name}.yaml").write_text(content)
        hashes[name] = load_mechanism(str(tmp_path / f"{name}.yaml")).sha256
    assert hashes == dict.fromkeys(copies, load_mechanism("h2o2.yaml").sha256)


@pytest.mark.parametrize(
    "before, after",
    [
        ("A: 3.87e+04, b: 2.7, Ea: 6260.0", "A: 3.88e+04, b: 2.7, Ea: 6260.0"),  # a rate
        ("A: 3.87e+04, b: 2.7, Ea: 6260.0", "A: 3.87e+04, b: 2.7, Ea: 6260.1"),  # an energy
        ("efficiencies: {H2: 2.4, H2O: 15.4", "efficiencies: {H2: 2.5, H2O: 15.4"),
        ("[2.34433112, 7.98052075e-03", "[2.34433113, 7.98052075e-03"),  # a polynomial
    ],
)
def test_hash_depends_on_the_chemistry(tmp_path, before, after):
    text = cantera_text("h2o2.yaml")
    assert before in text
    changed = tmp_path / "changed.yaml"
    changed.write_text(text.replace(before, after, 1))
    assert load_mechanism(str(changed)).sha256 != load_mechanism("h2o2.yaml").sha256


def test_unknown_species_names_the_nearest(drm19):
    assert drm19.index("CH2(S)") == drm19.index("ch2(s)") == 8
    with pytest.raises(ValueError, match="did you mean CH4"):
        drm19.index("ch44")


@pytest.mark.parametrize(
    "name, reason",
    [
        ("liquidvapor.yaml", "ideal gas.*water, pure-fluid, 0 reactions; .*nitrogen"),
        ("airNASA9.yaml", "reacts.*airNASA9, ideal-gas, 0 reactions"),
        ("diamond.yaml", "reacts.*diamond_100, ideal-surface, 20 reactions"),
    ],
)
def test_a_phase_that_is_not_a_reacting_ideal_gas_is_refused(name, reason):
    with pytest.raises(ValueError, match=reason):
        load_mechanism(name)


def with_argon(tmp_path, thermo):
    """h2o2.yaml with other thermodynamic data of AR, as the path of a file."""
    text = cantera_text("h2o2.yaml")
    start = text.index("- name: AR\n")
    end = text.index("- name: N2\n")
    argon = f"- name: AR\n  composition: {{Ar: 1}}\n  thermo: {thermo}\n"
    file = tmp_path / "argon.yaml"
    text = text[:start] + argon + text[end:]
    file.write_text(text.replace("  transport: mixture-averaged\n", ""))
    return str(file)


def test_other_data_than_polynomials_and_constant_heat_capacities_are_refused(tmp_path):
    shomate = "{model: Shomate, temperature-ranges: [298, 6000], data: [[21, 0, 0, 0, 0, -6, 180]]}"
    with pytest.raises(ValueError, match=r"NASA-7.*data: AR\..*another mechanism"):
        load_mechanism(with_argon(tmp_path, shomate))


H2 = "- equation: O + H2 <=> H + OH"


@pytest.mark.parametrize(
    "before, after, told",
    [
        ("H2: 2.4,", "XX: 2.4,", "line 249: Reaction '2 O . M .*' defines third-body .*'XX'"),
        ("elements: [O, H, Ar, N]", "elements: [O, H, Ar]", "Species 'N2' contains .* element 'N'"),
        (H2, "- equation: O + H2 <=> H + OQ", "line 254: .* undeclared species: 'OQ'"),
        (H2, H2 + "\n  orders: {N2: 1}", "order specified for non-reactant species 'N2'"),
        ("- name: AR\n", "- name: false\n", "Key 'name' contains a 'bool', not a 'string'"),
    ],
)
def test_a_fault_in_a_file_is_told_in_cantera_s_words(tmp_path, before, after, told):
    file, text = tmp_path / "m.yaml", cantera_text("h2o2.yaml")
    assert before in text
    file.write_text(text.replace(before, after, 1))
    with pytest.raises(ValueError, match=rf"m.yaml' cannot be read by Cantera: .*{told}") as error:
        load_mechanism(file)
    assert "give the path" not in str(error.value) and "|" not in str(error.value)


@pytest.mark.parametrize(
    "name, remedy", [("chem.inp", "ck2yaml --input=chem.inp"), ("chem.cti", "cti2yaml chem.cti")]
)
def test_what_is_no_yaml_is_a_value_error_with_its_remedy(tmp_path, name, remedy):
    file = tmp_path / "broken.yaml"
    file.write_text("phases: [")
    with pytest.raises(ValueError, match=r"cannot be read: it is no YAML .*line 1"):
        load_mechanism(str(file))
    file = file.rename(tmp_path / name)
    file.write_text("ELEMENTS\nH O\nEND\nSPECIES\nH2 ! the fuel\nEND\n")
    for read in (load_mechanism, lambda file: export(file, tmp_path)):
        with pytest.raises(ValueError, match=remedy) as told:
            read(file)
        assert "SPECIES" not in str(told.value)


def test_a_phase_that_cannot_be_read_alone_is_passed_over(tmp_path):
    """Cantera does not read a surface without its gas."""
    file, text = tmp_path / "m.yaml", cantera_text("ptcombust.yaml")
    surface = text[text.index("- name: Pt_surf") : text.index("species:\n- name: PT(S)\n")]
    alone = surface.replace("adjacent-phases: [gas]", "")
    assert alone != surface
    file.write_text(text.replace(surface, "").replace("phases:\n", f"phases:\n{alone}", 1))
    with pytest.raises(ct.CanteraError):
        ct.Solution(str(file))
    assert load_mechanism(file).phase == "gas"


def test_chemistry_needs_no_transport_data(tmp_path):
    file, text = tmp_path / "m.yaml", cantera_text("h2o2.yaml")
    start = text.index("  transport:", text.index("- name: H2O2"))
    text = text[:start] + text[text.index("- name: AR") :]
    file.write_text(text)
    with pytest.raises(ct.CanteraError, match="Missing gas-phase transport data"):
        ct.Solution(str(file))
    mechanism, known = load_mechanism(file), load_mechanism("h2o2.yaml")
    assert np.array_equal(mechanism.thermo, known.thermo)
    assert known.solution().transport_model == "mixture-averaged"
    assert known.solution(transport=False).transport_model == "none"
    assert lacking(mechanism.solution()) == "no transport data of H2O2"
    assert lacking(known.solution()) == ""


def test_a_phase_of_cantera_is_the_mechanism_of_its_file():
    """Unless a rate was changed in it, or it has no file."""
    gas = ct.Solution("h2o2.yaml")
    assert load_mechanism(gas) is load_mechanism("h2o2.yaml", "ohmech")
    gas.set_multiplier(2.0, 3)
    with pytest.raises(ValueError, match=r"ohmech is not that of its file, h2o2.yaml"):
        load_mechanism(gas)
    gas.set_multiplier(1.0, 3)
    equation = gas.reaction(2).equation
    gas.modify_reaction(2, ct.Reaction(equation=equation, rate={"A": 1e5, "b": 2.0, "Ea": 1e7}))
    with pytest.raises(ValueError, match="write it with gas.write_yaml"):
        load_mechanism(gas)
    with pytest.raises(ValueError, match="write it with gas.write_yaml"):
        load_mechanism(ct.Solution(thermo="ideal-gas", species=gas.species()))
