"""OpenFOAM's dictionaries of a mechanism, read back and compared with Cantera."""

import os
import re
import signal
from pathlib import Path
from types import SimpleNamespace

import cantera as ct
import numpy as np
import pytest

from combred import load_mechanism
from combred.libraries import export_case
from combred.native.openfoam import case as openfoam
from combred.native.openfoam.case import inert, write_mechanism
from combred.native.openfoam.janaf import LARGEST_CP_ERROR, LARGEST_T_ERROR, share_break
from combred.native.openfoam.reactions import _side, reactions
from combred.native.openfoam.thermo import sutherland, thermo
from combred.native.openfoam.versions import DEBIAN, named, sourced
from combred.native.openfoam.words import is_field, is_word, require_words

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


def test_a_troe_temperature_of_zero_is_nearly_zero(gas):
    """OpenFOAM divides by it."""
    changed = gas.reactions()
    for reaction in changed:
        if isinstance(reaction.rate, ct.TroeRate):
            reaction.rate = ct.TroeRate(
                low=reaction.rate.low_rate, high=reaction.rate.high_rate, falloff_coeffs=[0.7, 0, 0]
            )
    one = ct.Solution(thermo="ideal-gas", kinetics="gas", species=gas.species(), reactions=changed)
    assert "alpha 0.7; Tsss 1e-30; Ts 1e-30; Tss 1e+30;" in reactions(one)


OTHER_NAMES = """
phases:
- name: gas
  thermo: ideal-gas
  species: [{h2o2.yaml/species: all}]
  kinetics: gas
  transport: mixture-averaged
  rate-multipliers: {default: 1.0, 0: 0.3, 2: 4.0}
reactions:
- {equation: O + H2 <=> H + oh, rate-constant: [38.7, 2.7, 2.6e+7]}
- equation: H + O2 + M <=> HO2 + M
  rate-constant: [1.0e+10, 0.0, 0.0]
  efficiencies: {ar: 0.5, h2O: 6.0}
  default-efficiency: 0.2
- equation: H + O2 (+n2) <=> HO2 (+n2)
  type: falloff
  low-P-rate-constant: [1.0e+14, -1.0, 300.0]
  high-P-rate-constant: [2.0e+10, 0.1, 200.0]
  Troe: {A: 0.5, T3: 30.0, T1: 9000.0, T2: 0.0}
- equation: H2O2 (+M) <=> 2 OH (+M)
  type: falloff
  low-P-rate-constant: [1.0e+14, -1.0, 300.0]
  high-P-rate-constant: [0.0, 0.1, 200.0]
- equation: H + HO2 <=> O2 + H2
  rate-constant: [0.0, 0.1, 200.0]
"""


def test_names_in_other_letters_multipliers_and_rates_of_zero(mechanism_of, tmp_path, caplog):
    mechanism = mechanism_of(OTHER_NAMES)
    write_mechanism(mechanism, tmp_path)
    text = (tmp_path / "reactions").read_text()
    numbers = re.findall(r"reaction(\d+) \{", text)
    assert numbers == ["0", "1", "2", "4"]  # OpenFOAM would divide by the zero of reaction 3
    assert "Reaction 4, H2O2 (+M) <=> 2 OH (+M), has a rate of zero" in caplog.text
    first, body, falloff, never = blocks(text)
    assert constants(first)[0] == pytest.approx((0.3 * 38.7, 2.7, 2.6e7 / R), rel=1e-9)
    assert '"H2 + O = H + OH"' in first or '"O + H2 = H + OH"' in first
    assert [k[0] for k in constants(falloff)] == pytest.approx([4e14, 8e10], rel=1e-9)
    assert "Tss 1e+30;" in falloff  # Cantera has no third term with T2 = 0
    assert constants(never)[0][0] == 0.0
    for block, expected in (
        (body, {"AR": 0.5, "H2O": 6.0}),
        (falloff, {"N2": 1.0}),
    ):
        default = 0.2 if block is body else 0.0
        listed = {name: float(n) for name, n in re.findall(rf"\((\S+) ({NUMBER})\)", block)}
        assert listed == dict.fromkeys(mechanism.species_names, default) | expected


def of_atoms(n: float) -> ct.Solution:
    """Water with n atoms of hydrogen."""
    gas = load_mechanism("h2o2.yaml").solution()
    water = ct.Species("H2O", {"H": n, "O": 1})
    water.thermo, water.transport = gas.species("H2O").thermo, gas.species("H2O").transport
    parts = [one for one in gas.species() if one.name != "H2O"]
    return ct.Solution(thermo="ideal-gas", transport_model="mixture-averaged", kinetics="none",
                       species=[*parts, water])  # fmt: skip


@pytest.mark.parametrize("n", [2, 999999, 1000000, 12345678, 2**31 - 1])
def test_numbers_of_atoms_are_written_with_all_digits(n):
    own = thermo(of_atoms(n)).split("\nH2O\n")[1]
    assert re.search(r"elements \{ (.*) \}", own)[1] == f"H {n}; O 1;"


@pytest.mark.parametrize("n", [1.5, 0.3333, 2.0**31, 1e12])
def test_numbers_of_atoms_that_openfoam_cannot_read_are_refused(n):
    with pytest.raises(ValueError, match="species H2O has .* atoms of H, and OpenFOAM reads whole"):
        thermo(of_atoms(n))


@pytest.mark.parametrize("name", ["species", "thermoType", "defaultSpecie", "inertSpecie"])
def test_names_of_entries_beside_the_species_are_refused_from_foundation_8_on(name):
    gas = of_atoms(2)
    own = ct.Species(name, {"N": 2})
    own.thermo, own.transport = gas.species("N2").thermo, gas.species("N2").transport
    gas.add_species(own)
    assert f"\n{name}\n{{" in thermo(gas)
    with pytest.raises(ValueError, match=f"beside the species: {name}. Rename"):
        thermo(gas, with_list=True)


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


def library(_, folder: Path) -> list[Path]:
    """In place of `export`."""
    path = folder / "libsolver.so"
    path.write_bytes(b"a library")
    return [path]


def test_a_case_gets_all_files_and_keeps_its_own(tmp_path, drm19, monkeypatch):
    monkeypatch.setattr("combred.native.exporter.export", library)
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
    control.write_text(DEBIAN.control())
    assert export_case(drm19, tmp_path)[1] == ""


# As in OpenFOAM's own tutorials of each version: the file of the thermodynamics, its mixture, the
# name of the species that the others leave, the model, and dictionaries of a laminar flow
COM = (
    "thermophysicalProperties",
    "reactingMixture",
    "inertSpecie",
    "chemistryType { solver combred; }",
)
LAMINAR = {"combustionProperties", "momentumTransport"}
DICTIONARIES = {
    "v2506": (*COM, set()),
    "7": (*COM, {"combustionProperties", "turbulenceProperties"}),
    "8": (COM[0], "multiComponentMixture", COM[2], COM[3], LAMINAR),
    "9": (COM[0], "multiComponentMixture", "defaultSpecie", COM[3], LAMINAR),
    "10": ("physicalProperties", "multiComponentMixture", "defaultSpecie", COM[3], LAMINAR),
    "13": ("physicalProperties", "multicomponentMixture", "defaultSpecie", COM[3], LAMINAR),
    "dev": (
        "physicalProperties", "multicomponentMixture", "defaultSpecie", "type combred;",
        {"reactionProperties", "momentumTransport"},
    ),
}  # fmt: skip
DICTIONARIES["14"] = DICTIONARIES["dev"]


@pytest.mark.parametrize("name", DICTIONARIES)
def test_a_case_is_as_its_version_reads_it(name, tmp_path, monkeypatch):
    physical, mixture, inert_key, model, usual = DICTIONARIES[name]
    monkeypatch.setattr("combred.native.exporter.export", library)
    written, entries = export_case("drm19.yaml", tmp_path, name)
    text = {path.name: path.read_text() for path in written if path.suffix != ".so"}
    assert text.keys() == {"thermo", "reactions", "chemistryProperties", physical} | usual
    assert f"mixture {mixture};" in text[physical] and f"{inert_key} N2;" in text[physical]
    assert model in text["chemistryProperties"] and (name[0] == "v") == (not usual)
    later = name not in ("v2506", "7")
    assert ('#include "thermo"' in text[physical]) == later == ("species ( H2 H" in text["thermo"])
    # Foundation 7 does not know <constant>.
    assert ('"$FOAM_CASE/constant/reactions"' in text[physical]) == (not later)
    types = set(re.findall(r"type (\w+);", text["reactions"]))
    kinds = {
        "reversibleArrhenius",
        "reversibleThirdBodyArrhenius",
        "reversibleArrheniusTroeFallOff",
    }
    assert types >= kinds if later else all(kind.endswith("Reaction") for kind in types)
    assert ("solver multicomponentFluid;" in entries) == (name in ("13", "14", "dev"))


def test_the_sourced_version_is_the_default(tmp_path, drm19, monkeypatch):
    monkeypatch.setattr("combred.native.exporter.export", library)
    monkeypatch.delenv("FOAM_API", raising=False)
    monkeypatch.setenv("WM_PROJECT_VERSION", "13")
    written, _ = export_case(drm19, tmp_path)
    assert "physicalProperties" in {path.name for path in written}
    own = tmp_path / "constant/momentumTransport"
    own.write_text("mine")
    export_case(drm19, tmp_path)
    assert own.read_text() == "mine"
    assert sourced({"FOAM_API": "2312", "WM_PROJECT_VERSION": "com"}) == named("v2312")
    assert sourced({}) is None
    for name in ("6", "v1806", "foam-extend", ""):
        with pytest.raises(ValueError, match="is no version of OpenFOAM that combred knows"):
            named(name)


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


def test_a_field_of_another_species_is_told(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("combred.native.exporter.export", library)
    field = "FoamFile {{ class volScalarField; }}\ndimensions [{}];\ninternalField uniform 0;\n"
    (tmp_path / "0").mkdir()
    for name, unit in {
        "CH4": "0 0 0 0 0 0 0", "HE": "0 0 0 0 0 0 0", "Ydefault": "0 0 0 0 0 0 0",
        "T": "0 0 0 1 0 0 0", "nuTilda": "0 2 -1 0 0 0 0",
    }.items():  # fmt: skip
        (tmp_path / "0" / name).write_text(field.format(unit))
    export_case("drm19.yaml", tmp_path, "v2506")
    told = [line for line in caplog.messages if "looks like the field" in line]
    assert len(told) == 1 and "0/HE looks" in told[0] and "N2 takes its place" in told[0]


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
        solution=lambda **_: ct.Solution(thermo="ideal-gas", species=species[:2]),
    )
    assert inert(without) == "AR"
    without.inert[:] = False
    with pytest.raises(ValueError, match="neither N2 nor another inert species.* add one"):
        inert(without)


def test_the_range_of_temperature_is_that_of_the_library(gas):
    """OpenFOAM clips T to it, with a warning at every evaluation."""
    found = re.findall(rf"Tlow ({NUMBER}); Thigh ({NUMBER});", thermo(gas))
    assert len(found) == gas.n_species and set(found) == {("100", "6000")}


def species(name: str, T_mid: float, jump: float = 0.0) -> ct.Species:
    """With continuous h and s and cp/R, but for a jump; of one range where T_mid is 6000 K."""
    low = np.array([3.5, 1e-3, 0.0, 0.0, 0.0, -1e3, 2.0])
    high = low.copy()
    if T_mid < 6000.0:
        high[1] = 5e-4
        high[0] += (low[1] - high[1]) * T_mid + jump
        slopes, levels = low[1] - high[1], low[0] - high[0]
        high[5] += (levels + slopes * T_mid / 2) * T_mid
        high[6] += levels * np.log(T_mid) + slopes * T_mid
    found = ct.Species(name, "N:2")
    found.thermo = ct.NasaPoly2(200.0, 6000.0, 1e5, np.concatenate([[T_mid], high, low]))
    return found


def mixed(T: np.ndarray, T_common: float, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """cp/R, h/R and s/R (3, n) of one species, as OpenFOAM computes them."""
    found = []
    for one in T:
        a = high if one >= T_common else low
        powers = one ** np.arange(5)
        h = a[5] + (a[:5] * powers / np.arange(1, 6)).sum() * one
        s = a[6] + a[0] * np.log(one) + (a[1:5] * powers[1:] / np.arange(1, 5)).sum()
        found.append(((a[:5] * powers).sum(), h, s))
    return np.array(found).T


def of_cantera(one: ct.Species, T: np.ndarray) -> np.ndarray:
    found = np.array([(one.thermo.cp(x), one.thermo.h(x), one.thermo.s(x)) for x in T])
    return found.T / ct.gas_constant


@pytest.mark.parametrize("file", ["gri30.yaml", "nDodecane_Reitz.yaml", "h2o2.yaml"])
def test_polynomials_share_one_break(file, caplog):
    """Exact where a species has this break, or one range; else within the bounds that are told."""
    found = ct.Species.list_from_file(file)
    T_common, lows, highs = share_break(found)
    assert T_common == 1000.0
    T = np.array([200.0, 298.15, 500.0, 999.9, 1000.1, 1200.0, 1390.0, 1800.0, 3000.0, 6000.0])
    refitted = []
    for one, low, high in zip(found, lows, highs, strict=True):
        (cp, h, s), (true_cp, true_h, true_s) = mixed(T, T_common, low, high), of_cantera(one, T)
        if one.thermo.coeffs[0] == T_common:
            assert np.allclose(cp, true_cp, rtol=1e-12) and np.allclose(s, true_s, rtol=1e-12)
            assert np.allclose(h, true_h, rtol=1e-10, atol=1e-8)
            continue
        refitted.append(one.name)
        assert np.allclose(cp, true_cp, rtol=LARGEST_CP_ERROR)
        assert abs((h - true_h) / true_cp).max() < LARGEST_T_ERROR
        assert h[1] == pytest.approx(true_h[1], rel=1e-9)
        below, above = (mixed(T[:1] * 0 + T_common, x, low, high) for x in (np.inf, 0.0))
        assert np.allclose(below, above, rtol=1e-9)
    told = caplog.text
    assert len(refitted) == {"gri30.yaml": 3, "h2o2.yaml": 0}.get(file, 52)
    assert all(name in told for name in refitted[:10]) and ("refitted" in told) == bool(refitted)


@pytest.mark.parametrize(
    "T_mids, T_common", [((6000.0, 1391.0), 1391.0), ((600.0, 900.0, 900.0), 900.0)]
)
def test_the_first_species_does_not_name_the_break(T_mids, T_common):
    """A first species of one range up to 6000 K; and a break below the others, refitted below."""
    found = [species(f"A{k}", T_mid) for k, T_mid in enumerate(T_mids)]
    T, (there, lows, highs) = np.linspace(200.0, 6000.0, 30), share_break(found)
    assert there == T_common
    for one, low, high in zip(found, lows, highs, strict=True):
        cp, h, _ = mixed(T, there, low, high)
        true_cp, true_h, _ = of_cantera(one, T)
        exact = one.thermo.coeffs[0] in (T_common, 6000.0)
        assert abs(h - true_h).max() < (1e-8 * abs(true_h).max() if exact else 5.0 * cp.max())


def test_a_break_that_cannot_be_moved_is_refused():
    found = [species("A", 1000.0, 9.0), species("B", 1000.0, 9.0), species("C", 2500.0, 9.0)]
    with pytest.raises(ValueError, match="polynomials of C for 1000 K err by more than 3 %"):
        share_break(found)


EVIL = 'x { } pwned #calc "Foam::system(\\"touch PWNED\\")"; y'
NO_WORDS = "1HO2 -A .A + =B (S) A) A(B A(B))( A; A{ A} A\" A' A/B A//B #calc $A *A :A ,A [A A\\"
NO_WORDS = ["List<scalar>", *NO_WORDS.split(), "A B", "A\nB", "A\tB", "A\0", "A\u2028", ""]
NO_WORDS += [EVIL, "x" * 300]


@pytest.mark.parametrize("name", NO_WORDS)
def test_names_that_openfoam_does_not_read_as_words_are_refused(name):
    for names in (["N2", name], []), (["N2"], ["N", name]):
        with pytest.raises(ValueError, match="OpenFOAM cannot have these.*Rename") as raised:
            require_words(*names)
        assert ascii(name) in str(raised.value)


def test_names_of_fields_are_refused_for_species_alone():
    require_words(["N2"], ["K", "T", "U", "p"])
    for name in ("T", "p", "U", "uniform", "FoamFile", "O2_0", "A~", "CH2.1"):
        with pytest.raises(ValueError, match="these names: .*that of another field"):
            require_words(["N2", name], [])


def test_names_that_openfoam_reads_are_taken():
    """All of them were run in OpenFOAM v1912."""
    taken = "OH* O(1D) H2O2(L,X) a,b HO-OH H+ b#2 e- E c:d x=y x*y x[1] A|B <x> x$y x^2 K nan é"
    assert all(is_word(name) and is_field(name) for name in taken.split())


def test_electrons_and_powers_in_a_reaction_are_not_read_as_numbers():
    assert _side({"E": 2.0, "CH3": 2.0, "e-": 1.0}) == "2 E + 2CH3 + e-"
    with pytest.raises(ValueError, match=r"the \^ of N2\^2 in a reaction"):
        _side({"N2^2": 1.0})


@pytest.fixture
def case(tmp_path, drm19, monkeypatch):
    """A case that was exported, with an old library; and a function: all of its files."""
    monkeypatch.setattr("combred.native.exporter.export", library)
    export_case(drm19, tmp_path)
    for name in ("thermo", "reactions", "libsolver.so"):
        path = tmp_path / "constant" / name
        path.write_bytes(path.read_bytes() + b"// old")

    def files() -> dict[str, bytes]:
        return {p.name: p.read_bytes() for p in (tmp_path / "constant").iterdir()}

    files.folder = tmp_path
    return files


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_an_export_that_fails_leaves_the_case(case, drm19, monkeypatch, error):
    def fail(*_):
        raise error("too large")

    before = case()
    monkeypatch.setattr("combred.native.exporter.export", fail)
    with pytest.raises(error):
        export_case(drm19, case.folder)
    assert case() == before


def test_an_interrupt_waits_until_the_case_is_whole(case, drm19, monkeypatch):
    replace, before = os.replace, case()

    def interrupted(path, target):
        if Path(target).parent == case.folder / "constant":
            signal.raise_signal(signal.SIGINT)
        return replace(path, target)

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export_case(drm19, case.folder)
    after = case()
    assert after.keys() == before.keys()
    assert not any(after[name].endswith(b"// old") for name in after)


def test_a_library_of_another_source_goes_where_there_is_no_compiler(case, drm19, monkeypatch):
    monkeypatch.setattr("combred.native.exporter.export", lambda *_: [])
    export_case(drm19, case.folder)
    assert "libsolver.so" not in case()


def test_nothing_is_written_through_a_link(case, drm19, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    constant = case.folder / "constant"
    for name in ("thermo", "libsolver.so"):
        (elsewhere / name).write_text(f"{openfoam.OWN}mine")
        (constant / name).unlink()
        (constant / name).symlink_to(elsewhere / name)
    (constant / "chemistryProperties").unlink()
    (constant / "chemistryProperties").symlink_to(elsewhere / "none")
    _, entries = export_case(drm19, case.folder)
    assert all(path.read_text() == f"{openfoam.OWN}mine" for path in elsewhere.iterdir())
    assert {path.name for path in elsewhere.iterdir()} == {"thermo", "libsolver.so"}
    assert (constant / "thermo.orig").is_symlink() and not (constant / "thermo").is_symlink()
    assert "solver combred;" in entries  # of the file that leads nowhere
    constant.rename(elsewhere / "constant")
    constant.symlink_to(elsewhere / "constant")
    with pytest.raises(ValueError, match="is a symbolic link, and other cases may use .*: copy"):
        export_case(drm19, case.folder)
    constant.unlink()
    (constant / "reactions").mkdir(parents=True)
    (constant / "libsolver.so").mkdir()
    with pytest.raises(ValueError, match="libsolver.so is a folder, and a file has to be there"):
        export_case(drm19, case.folder)
    assert {path.name for path in constant.iterdir()} == {"reactions", "libsolver.so"}
