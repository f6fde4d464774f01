"""OpenFOAM's dictionaries of a mechanism, read back and compared with Cantera."""

import re
from types import SimpleNamespace

import cantera as ct
import numpy as np
import pytest

from combred import load_mechanism
from combred.native import openfoam
from combred.native.openfoam import (
    export_case,
    inert,
    reactions,
    sutherland,
    thermo,
    write_mechanism,
)

NUMBER = r"[-+.\de]+"
R = ct.gas_constant


@pytest.fixture(scope="module")
def gas():
    gas = load_mechanism("drm19.yaml").solution()
    gas.transport_model = "mixture-averaged"
    return gas


def blocks(text: str) -> list[str]:
    return re.findall(r"reaction\d+ \{(.*)\}", text)


def constants(block: str) -> list[tuple[float, ...]]:
    """A, beta and Ta of each rate of a reaction, the low-pressure one first."""
    found = re.findall(rf"A ({NUMBER}); beta ({NUMBER}); Ta ({NUMBER});", block)
    return [tuple(map(float, one)) for one in found]


def test_every_reaction_has_cantera_s_numbers(gas):
    found = blocks(reactions(gas))
    assert len(found) == gas.n_reactions == 84
    for block, reaction in zip(found, gas.reactions(), strict=True):
        rate = reaction.rate
        falloff = not isinstance(rate, ct.ArrheniusRate)
        rates = [rate.low_rate, rate.high_rate] if falloff else [rate]
        expected = [
            (r.pre_exponential_factor, r.temperature_exponent, r.activation_energy / R)
            for r in rates
        ]
        assert np.allclose(constants(block), expected, rtol=1e-6)
        assert block.split()[1].startswith("reversible" if reaction.reversible else "irreversible")
        assert ("FallOff" in block) == falloff
        assert ("coeffs" in block) == (reaction.third_body is not None)
        if reaction.third_body is not None:
            listed = dict(re.findall(rf"\((\S+) ({NUMBER})\)", block))
            assert list(listed) == gas.species_names
            for name, value in listed.items():
                third = reaction.third_body
                assert float(value) == third.efficiencies.get(name, third.default_efficiency)


def test_reactants_and_products_are_those_of_the_reaction(gas):
    for block, reaction in zip(blocks(reactions(gas)), gas.reactions(), strict=True):
        equation = re.search('reaction "(.*)";', block)[1]
        for side, species in zip(
            equation.split(" = "), (reaction.reactants, reaction.products), strict=True
        ):
            counted: dict[str, float] = {}
            for term in side.split(" + "):
                n, name = re.fullmatch(r"([\d.]*)(.+)", term).groups()
                counted[name] = counted.get(name, 0.0) + float(n or 1)
            assert counted == species


def test_parameters_of_troe_are_written(gas):
    block = next(b for b in blocks(reactions(gas)) if '"CH3 + H = CH4"' in b)
    assert "alpha 0.783; Tsss 74; Ts 2941; Tss 6964;" in block


def test_polynomials_give_heat_capacity_and_entropy_at_openfoam_s_standard_pressure(gas):
    text = thermo(gas)
    for name in ("CH4", "CH2(S)", "AR"):
        own = text[text.index(f"\n{name}\n{{") :]
        for side, T in (("lowCpCoeffs", 700.0), ("highCpCoeffs", 2000.0)):
            a = np.array(re.search(rf"{side} \( (.*?) \)", own)[1].split(), float)
            gas.TPX = T, 1e5, f"{name}:1"
            k = gas.species_index(name)
            assert np.polyval(a[4::-1], T) == pytest.approx(gas.standard_cp_R[k], rel=1e-10)
            s = a[0] * np.log(T) + np.polyval([*(a[4:0:-1] / [4, 3, 2, 1]), a[6]], T)
            assert s == pytest.approx(gas.standard_entropies_R[k], rel=1e-10)


def test_viscosities_are_fitted(gas):
    for name in ("CH4", "N2", "H"):
        As, Ts = sutherland(gas, gas.species_index(name))
        for T in (300.0, 1000.0, 2500.0):
            gas.TP = T, ct.one_atm
            mu = gas.species_viscosities[gas.species_index(name)]
            assert As * np.sqrt(T) / (1 + Ts / T) == pytest.approx(mu, rel=0.05)


def test_a_rate_that_openfoam_cannot_read_is_refused(kinds):
    with pytest.raises(ValueError, match="is of a kind that is not supported"):
        reactions(kinds.solution())
    assert not blocks(reactions(kinds.solution(), listed=False))


def test_a_case_gets_all_files_and_keeps_its_own(tmp_path, drm19, monkeypatch):
    monkeypatch.setattr(openfoam, "export", lambda _, folder: [folder / "libsolver.so"])
    own = tmp_path / "constant" / "chemistryProperties"
    own.parent.mkdir()
    own.write_text("mine")
    written, entries = export_case(drm19, tmp_path)
    names = ["thermo", "reactions", "libsolver.so", "thermophysicalProperties"]
    assert [path.name for path in written] == names and own.read_text() == "mine"
    assert "inertSpecie N2;" in (own.parent / "thermophysicalProperties").read_text()
    assert 'library "constant/libsolver.so";' in entries and "libcombredChemistry.so" in entries
    assert "thermoType" not in entries
    own.write_text(entries)
    control = tmp_path / "system" / "controlDict"
    control.parent.mkdir()
    control.write_text(openfoam.CONTROL)
    assert export_case(drm19, tmp_path)[1] == ""


def test_files_of_others_are_kept_beside(tmp_path, drm19, caplog):
    theirs, kept = tmp_path / "thermo", tmp_path / "thermo.orig"
    theirs.write_text("mine")
    for _ in range(2):  # the second time it is combred's own
        write_mechanism(drm19, tmp_path)
        assert {path.name for path in tmp_path.iterdir()} == {"thermo", "thermo.orig", "reactions"}
    assert kept.read_text() == "mine" and caplog.text.count(f"it is now {kept}") == 1
    theirs.write_text("mine, too")
    with pytest.raises(ValueError, match="thermo.orig, which is there: move"):
        write_mechanism(drm19, tmp_path)
    assert (theirs.read_text(), kept.read_text()) == ("mine, too", "mine")


def test_reactions_that_openfoam_does_not_know_are_left_out(tmp_path, caplog):
    write_mechanism(load_mechanism("example_data/ammonia-CO-H2-Alzueta-2023.yaml"), tmp_path)
    assert not blocks((tmp_path / "reactions").read_text())
    assert "names the species alone" in caplog.text and "is of a kind" in caplog.text


def test_the_inert_species_is_nitrogen_or_one_that_does_not_react(drm19):
    assert inert(drm19) == "N2"
    species = ct.Species.list_from_file("h2o2.yaml")
    without = SimpleNamespace(
        name="without N2",
        species_names=["H2", "H", "AR"],
        inert=np.array([False, False, True]),
        solution=lambda: ct.Solution(thermo="ideal-gas", species=species[:2]),
    )
    assert inert(without) == "AR"
    without.inert[:] = False
    with pytest.raises(ValueError, match="neither N2 nor another inert species.* add one"):
        inert(without)


def test_the_ranges_of_temperature_are_wide(gas):
    """OpenFOAM clips T to them, with a warning at every evaluation."""
    found = re.findall(rf"Tlow ({NUMBER}); Thigh ({NUMBER});", thermo(gas))
    assert len(found) == gas.n_species
    assert all(float(low) <= 200.0 and float(high) >= 5000.0 for low, high in found)
