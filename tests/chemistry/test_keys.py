"""Each key of a phase, a species and a reaction that Cantera 3.2 reads: honoured, so that rates and
thermodynamics are Cantera's, or refused with its name. The table of docs/mechanism.md is this."""

import logging

import cantera as ct
import numpy as np
import pytest
from rate_kinds import quietly
from reference_rates import assert_rates_are_cantera_s

from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.polynomials import evaluate
from combred.chemistry.reactions import read_reactions

TOP = "units: {length: cm, quantity: mol, activation-energy: cal/mol}\n"
RATE = "rate-constant: {A: 1.0e+13, b: 0.3, Ea: 5000.0}"
LIMITS = "low-P-rate-constant: [1.0e+16, -1.0, 300.0], high-P-rate-constant: [1.0e+13, 0.1, 200.0]"
PLAIN = f"- {{equation: O + H2 <=> H + OH, {RATE}}}\n"
HEATS = "thermo: {model: constant-cp, h0: -5.0 kJ/mol, s0: 150.0 J/mol/K, cp0: 30.0 J/mol/K}"
NASA9 = "[0, 0, 3.5, 1.0e-3, -1.0e-7, 0, 0, -1000.0, 4.0]"
PLOG = (
    "type: pressure-dependent-Arrhenius, rate-constants: [{P: 0.1 atm, A: 1.0e+10, b: 0.3, "
    "Ea: 9000.0}, {P: 10 atm, A: 1.0e+12, b: 0.0, Ea: 7000.0}]"
)
TABLE = (
    "type: Chebyshev, temperature-range: [290.0, 3000.0], pressure-range: [0.01 atm, 100.0 atm], "
    "data: [[8.2, -1.1], [1.9, 1.0]]"
)


def text_of(reactions: str = PLAIN, phase: str = "", species: str = "", top: str = TOP) -> str:
    """A small phase: keys of the phase, species of its own and reactions."""
    names = ["{h2o2.yaml/species: [H2, H, O, O2, OH, H2O, HO2, N2, AR]}"]
    names += ["{own: all}"] if species else []
    has = dict(line.split(":", 1) for line in phase.splitlines())
    lines = {"thermo": " ideal-gas", "species": f" [{', '.join(names)}]", "kinetics": " gas"} | has
    head = "".join(f"  {key}:{value}\n" for key, value in lines.items())
    own = f"own:\n{species}" if species else ""
    return f"{top}phases:\n- name: gas\n{head}{own}reactions:\n{reactions}"


def reaction(equation: str, keys: str) -> str:
    return PLAIN + f"- {{equation: {equation}, {keys}}}\n"


def species(keys: str, name: str = "NEW", composition: str = "{N: 2}") -> str:
    return f"- {{name: {name}, composition: {composition}, {keys}}}\n"


def read(text: str, folder) -> tuple[Mechanism, ct.Solution]:
    file = folder / "gas.yaml"
    file.write_text(text)
    return quietly(lambda: (load_mechanism(str(file)), ct.Solution(str(file), "gas")))


HONOURED = {
    # of a phase
    "elements": text_of(phase="elements: [O, H, N, Ar, C]"),
    "elements, sections": text_of(phase="elements: [{heavy: [O]}, {default: [H, N, Ar]}]")
    + "heavy:\n- {symbol: O, atomic-weight: 17.999, atomic-number: 8}\n",
    "skip-undeclared-elements": text_of(
        phase="elements: [O, H, N]\nskip-undeclared-elements: true",
    ),
    "species": text_of(phase="species: [{h2o2.yaml/species: [H2, H, O, OH]}]"),
    "reactions, sections": text_of(phase="reactions: [first, reactions]")
    + f"first:\n- {{equation: 2 OH <=> O + H2O, {RATE}}}\n",
    "reactions, none": text_of(phase="reactions: [reactions: all, first: none]")
    + f"first:\n- {{equation: 2 OH <=> O + H2O, {RATE}}}\n",
    "reactions, declared-species": text_of(
        PLAIN
        + f"- {{equation: CO + OH <=> CO2 + H, {RATE}}}\n"
        + f"- {{equation: h2 + o2 => h + ho2, {RATE}}}\n",
        phase="reactions: declared-species",
    ),
    "skip-undeclared-third-bodies": text_of(
        reaction("H + O2 + M <=> HO2 + M", f"{RATE}, efficiencies: {{CO: 3.0, h2o: 6.0}}")
        + f"- {{equation: H + O2 + CO <=> HO2 + CO, {RATE}}}\n",
        phase="skip-undeclared-third-bodies: true",
    ),
    "explicit-third-body-duplicates": text_of(
        reaction("H + O2 + M <=> HO2 + M", RATE)
        + f"- {{equation: H + O2 + AR <=> HO2 + AR, {RATE}}}\n",
        phase="explicit-third-body-duplicates: mark-duplicate",
    ),
    "rate-multipliers": text_of(
        reaction("H + O2 + M <=> HO2 + M", RATE) + f"- {{equation: 2 OH <=> O + H2O, {RATE}}}\n",
        phase="rate-multipliers: {default: 0.5, 1: 0.0, 2: 3.0}",
    ),
    "state": text_of(phase="state: {T: 500.0, P: 2 atm, X: {H2: 1.0}}"),
    "units": text_of(
        f"- units: {{length: m, quantity: kmol, activation-energy: K}}\n{PLAIN}"
        "- {equation: 2 OH <=> O + H2O, units: {activation-energy: eV, quantity: molec}, "
        "rate-constant: {A: 1.0e-11, b: 0.3, Ea: 0.2}}\n"
    ),
    # of a species
    "composition": text_of(species=species(HEATS, composition="{H: 1.5, O: 0.25}")),
    "charge": text_of(species=species(HEATS, "NEW+", "{H: 1, E: -1}")),
    "an isotope": text_of(species=species(HEATS, composition="{D: 2}")),
    "NASA7, reference-pressure": text_of(
        species=species(
            "thermo: {model: NASA7, reference-pressure: 101325 Pa, temperature-ranges: [200, 900, "
            "3500], data: [[3.5, 1.0e-3, 0, 0, 0, -1000, 4.0], [3.6, 9.0e-4, 0, 0, 0, -1000, 4.0]]}"
        )
    ),
    "NASA9": text_of(
        species=species(
            f"thermo: {{model: NASA9, temperature-ranges: [200, 1000, 3500], data: [{NASA9}, "
            f"{NASA9.replace('3.5', '3.7')}]}}"
        )
    ),
    "constant-cp": text_of(species=species(HEATS[:-1] + ", T0: 350.0, T-min: 100, T-max: 4000}")),
    "equation-of-state": text_of(
        species=species(f"{HEATS}, equation-of-state: {{model: Redlich-Kwong, a: 1.0, b: 2.0}}")
    ),
    "critical-parameters": text_of(
        species=species(
            f"{HEATS}, critical-parameters: {{critical-temperature: 126.2, critical-pressure: "
            "3.39 MPa, acentric-factor: 0.04}"
        )
    ),
    "sites": text_of(species=species(f"{HEATS}, sites: 2, size: 3, note: nothing")),
    # of a reaction
    "type: elementary": text_of(reaction("H + O2 + ar <=> HO2 + ar", f"type: elementary, {RATE}")),
    "type: three-body": text_of(reaction("H + O2 + M <=> HO2 + M", f"type: three-body, {RATE}")),
    "a collider without type": text_of(reaction("H + O2 + ar <=> HO2 + ar", RATE)),
    "efficiencies": text_of(
        reaction("H + O2 + M <=> HO2 + M", f"{RATE}, efficiencies: {{ar: 0.5, H2o: 6.0, AR: 0.4}}")
    ),
    "default-efficiency": text_of(
        reaction(
            "H + O2 + M <=> HO2 + M", f"{RATE}, efficiencies: {{ar: 1.0}}, default-efficiency: 0.0"
        )
    ),
    "orders": text_of(
        reaction(
            "H2 + O2 => 2 OH",
            f"{RATE}, orders: {{h2: 0.7, O2: 1.2, n2: -0.1}}, nonreactant-orders: true, "
            "negative-orders: true",
        )
    ),
    "one species in two spellings": text_of(
        reaction("H + h + O => H2 + o", f"{RATE}, orders: {{h: 0.7}}")
    ),
    "negative-A, duplicate": text_of(
        reaction("2 OH <=> O + H2O", f"{RATE}, duplicate: true")
        + f"- {{equation: 2 oh <=> o + h2o, {RATE.replace('1.0e', '-1.0e')}, negative-A: true, "
        "duplicate: true}\n"
    ),
    "id, note": text_of(reaction("2 OH <=> O + H2O", f"{RATE}, id: R2, note: Motz-Wise")),
    "Troe": text_of(
        reaction(
            "H + O2 (+M) <=> HO2 (+M)",
            f"type: falloff, {LIMITS}, Troe: {{A: 0.5, T3: 30.0, T1: 9000.0, T2: 400.0}}, "
            "efficiencies: {h2O: 11.0}",
        )
    ),
    "SRI": text_of(
        reaction(
            "H + O2 (+ar) <=> HO2 (+ar)",
            f"type: falloff, {LIMITS}, SRI: {{A: 0.5, B: 200.0, C: 900.0, D: 1.1, E: 0.1}}",
        )
    ),
    "Tsang": text_of(
        reaction(
            "H + O2 (+ M) <=> HO2 (+ M)",
            f"type: falloff, {LIMITS}, Tsang: {{A: 0.9, B: -1.0e-4}}",
        )
    ),
    "chemically-activated": text_of(
        reaction(
            "HO2 (+M) <=> O + OH (+M)",
            "type: chemically-activated, low-P-rate-constant: [1.0e+6, 0.0, 300.0], "
            "high-P-rate-constant: [1.0e+10, 0.1, 200.0]",
        )
    ),
    "pressure-dependent-Arrhenius": text_of(
        reaction("HO2 <=> O + OH", PLOG) + f"- {{equation: H + O2 + ar <=> HO2 + ar, {PLOG}}}\n"
    ),
    "Chebyshev": text_of(
        reaction("HO2 (+M) <=> O + OH (+M)", TABLE)
        + f"- {{equation: H + O2 + ar <=> HO2 + ar, {TABLE}}}\n"
    ),
    "Blowers-Masel": text_of(
        reaction(
            "2 H + ar <=> H2 + ar",
            "type: three-body-Blowers-Masel, rate-constant: {A: 1.0e+15, b: -1.0, Ea0: 3000.0, "
            "w: 1.0e+5}",
        )
    ),
    "linear-Burke, colliders": text_of(
        reaction(
            "HO2 (+M) <=> O + OH (+M)",
            f"type: linear-Burke, colliders: [{{name: M, {PLOG}}}, {{name: h2o, efficiency: "
            "{A: 10, b: 0, Ea: 0}}, "
            f"{{name: ar, efficiency: {{A: 0.7, b: 0, Ea: 0}}, {TABLE}}}]",
        )
    ),
}  # fmt: skip


@pytest.mark.parametrize("key", HONOURED)
def test_a_key_is_honoured(key, tmp_path):
    mechanism, gas = read(HONOURED[key], tmp_path)
    assert_rates_are_cantera_s(mechanism, gas)
    # Weights are sums of a few numbers; terms of a polynomial are up to 100 times its value.
    assert np.allclose(mechanism.molecular_weights, gas.molecular_weights, rtol=1e-14, atol=0.0)
    for T in (400.0, 1000.0, 2500.0):
        gas.TP = T, 1e5
        values = evaluate(mechanism.thermo, mechanism.T_breaks, np.array([T]))
        exact = gas.standard_cp_R, gas.standard_enthalpies_RT, gas.standard_entropies_R
        for mine, true in zip(values[:2], exact[:2], strict=True):
            assert np.allclose(mine[0], true, rtol=1e-12, atol=1e-12)
        at_reference = exact[2] + np.log(1e5 / gas.reference_pressure)
        assert np.allclose(values[2][0], at_reference, rtol=1e-12, atol=1e-12)


ONLY = "needs an ideal gas that reacts"
REFUSED = {
    # of a phase
    "thermo": (text_of(phase="thermo: Redlich-Kwong"), rf"{ONLY}.*\(gas, Redlich-Kwong, "),
    "kinetics": (text_of(phase="kinetics: none\nreactions: none"), ONLY),
    "electron-energy-distribution": (
        text_of(
            phase="thermo: plasma\nelectron-energy-distribution: {type: isotropic, "
            "shape-factor: 2.0, mean-electron-energy: 1.0 eV}",
            species=species(HEATS, "e-", "{E: 1}"),
        ),
        rf"{ONLY}.*\(gas, plasma, ",
    ),
    "explicit-third-body-duplicates: error": (
        HONOURED["explicit-third-body-duplicates"].replace("mark-duplicate", "error"),
        "duplicate",
    ),
    "rate-multipliers of no reaction": (
        text_of(phase="rate-multipliers: {99: 2.0}"),
        "`rate-multipliers` of the phase gas has the number 99, and its reactions .* from 0 to",
    ),
    "rate-multipliers below zero": (
        text_of(phase="rate-multipliers: {0: -1.0}"),
        "`rate-multipliers` of the phase gas gives reaction 1, .* the factor -1: give finite",
    ),
    "extensions": (text_of(top="extensions: [{type: python, name: mine}]\n"), "key `extensions`"),
    # of a species
    "Shomate": (
        text_of(
            species=species(
                "thermo: {model: Shomate, temperature-ranges: [298, 6000], "
                "data: [[26.0, 8.2, -1.9, 0.1, 0.04, -7.9, 221.0]]}"
            )
        ),
        "other thermodynamic data: NEW",
    ),
    "piecewise-Gibbs": (
        text_of(
            species=species(
                "thermo: {model: piecewise-Gibbs, h0: -1.0 kJ/mol, data: {298.15: -1.0 kJ/mol, "
                "1000: -2.0 kJ/mol}}"
            )
        ),
        "other thermodynamic data: NEW",
    ),
    "no thermo": (text_of(species=species("note: nothing")), "species 9 with reference pressure 0"),
    # of a reaction
    "two-temperature-plasma": (
        text_of(
            reaction(
                "2 OH => O + H2O",
                "type: two-temperature-plasma, rate-constant: {A: 1.0e+13, b: 0.0, Ea-gas: 0.0, "
                "Ea-electron: 0.0}",
            )
        ),
        "two-temperature-plasma",
    ),
    "an efficiency below zero": (
        text_of(reaction("H + O2 + M <=> HO2 + M", f"{RATE}, efficiencies: {{ar: -1.0}}")),
        "has an efficiency below zero",
    ),
    "efficiencies of no species": (
        text_of(reaction("H + O2 + M <=> HO2 + M", f"{RATE}, efficiencies: {{CO: 1.0}}")),
        "undeclared species: 'CO'",
    ),
}


@pytest.mark.parametrize("key", REFUSED)
def test_a_key_is_refused(key, tmp_path):
    text, reason = REFUSED[key]
    with pytest.raises(ValueError, match=reason):
        read_reactions(read(text, tmp_path)[0])


@pytest.mark.parametrize("model", ["multicomponent", "unity-Lewis-number", "ionized-gas"])
def test_another_model_of_transport_is_told(model, tmp_path, caplog):
    """Flames are mixture-averaged."""
    with caplog.at_level(logging.WARNING):
        read(text_of(phase=f"transport: {model}"), tmp_path)
    assert f"transport `{model}` is left out" in caplog.text


def test_modify_efficiency_is_that_of_the_mechanism_that_cantera_writes(tmp_path, caplog):
    """Cantera's rates have it after that alone."""
    text = HONOURED["explicit-third-body-duplicates"].replace("mark-duplicate", "modify-efficiency")
    with caplog.at_level(logging.WARNING):
        mechanism, gas = read(text, tmp_path)
    assert "`modify-efficiency` changes efficiencies, which Cantera's rates lack" in caplog.text
    gas.write_yaml(str(tmp_path / "written.yaml"))
    assert_rates_are_cantera_s(mechanism, ct.Solution(str(tmp_path / "written.yaml")))
    with pytest.raises(AssertionError):
        assert_rates_are_cantera_s(mechanism, gas)


def test_names_that_differ_in_capitals_alone(tmp_path):
    """As in Cantera, a name that is spelled so counts, and one in a third spelling is refused."""
    own = species(HEATS, "Ar", "{Ar: 1}")
    for collider in ("AR", "Ar"):
        keys = f"{RATE}, efficiencies: {{{collider}: 3.5}}"
        mechanism, gas = read(text_of(reaction("H + O2 + M <=> HO2 + M", keys), "", own), tmp_path)
        assert_rates_are_cantera_s(mechanism, gas)
        assert mechanism.index(collider) == gas.species_index(collider)
    with pytest.raises(
        ValueError, match=r"'ar' may stand for several: AR, Ar, .* as it is spelled"
    ):
        mechanism.index("ar")
    with pytest.raises(ValueError, match="'ar' is not unique"):
        read(text_of(reaction("H + O2 + ar <=> HO2 + ar", RATE), "", own), tmp_path)


def test_multipliers_and_weights_are_in_the_hash(tmp_path):
    """A mechanism whose numbers are others is another."""
    texts = [
        text_of(),
        text_of(phase="rate-multipliers: {0: 0.5}"),
        text_of(phase="rate-multipliers: {default: 0.7}"),
        HONOURED["elements, sections"],
    ]
    assert len({read(text, tmp_path)[0].sha256 for text in texts}) == len(texts)
    assert read(text_of(phase="rate-multipliers: {default: 1.0}"), tmp_path)[0].sha256 == (
        read(texts[0], tmp_path)[0].sha256
    )
