"""Files of mechanisms: one reading, what they name in other files, and files that are refused."""

import json
import os
import pickle
import sys
from pathlib import Path

import cantera as ct
import numpy as np
import pytest

from combred.chemistry import mechanism_file
from combred.chemistry.mechanism import Mechanism, load_mechanism, mechanism_of_text

GAS = """\
phases:
- name: gas
  thermo: ideal-gas
  species: [{h2o2.yaml/species: [H2, H, N2]}]
  kinetics: gas
"""
RATE = "- equation: H2 + M <=> 2 H + M\n  rate-constant: {{A: {}, b: 0, Ea: {}}}\n"
WHOLE = GAS + "reactions:\n" + RATE.format("1e13", 0)


def rates(gas: ct.Solution) -> np.ndarray:
    """Rate constants and enthalpies of a phase at 1500 K."""
    gas.TPX = 1500.0, 1e5, np.ones(gas.n_species)
    return np.concatenate([gas.forward_rate_constants, gas.standard_enthalpies_RT])


def require_of(mechanism: Mechanism, text: str) -> None:
    """Asserts that all parts of a mechanism are those of a text, as Cantera reads it."""
    known, found = ct.Solution(yaml=text), mechanism.solution()
    assert np.array_equal(rates(found), rates(known))
    coeffs = [s.thermo.coeffs for s in known.species()]
    assert np.array_equal(mechanism.thermo[:, 1, 2:], np.array([c[1:8] for c in coeffs]))


def test_all_parts_are_of_one_reading(tmp_path, monkeypatch):
    """The file changes within a second, lies elsewhere under the same name, and is gone."""
    monkeypatch.chdir(tmp_path)
    first = (mechanism_file.find("h2o2.yaml")).read_text()
    other = first.replace("A: 3.87e+04", "A: 3.87e+05").replace("2.34433112", "2.44433112")
    file = Path("m.yaml")
    file.write_text(first)
    old = load_mechanism("m.yaml")
    file.write_text(other)
    new = load_mechanism("m.yaml")
    (tmp_path / "beside").mkdir()
    monkeypatch.chdir(tmp_path / "beside")
    file.write_text(first)
    third = load_mechanism("m.yaml")
    file.unlink()
    for mechanism, text in ((old, first), (new, other), (third, first)):
        require_of(mechanism, text)
        require_of(pickle.loads(pickle.dumps(mechanism)), text)
    assert old.sha256 == third.sha256 != new.sha256


@pytest.mark.parametrize("units", ["", "units: {length: cm, activation-energy: K}\n"])
@pytest.mark.parametrize(
    "section",
    [
        "units: {length: cm, quantity: mol, activation-energy: cal/mol}\nrates:\n",
        "rates:\n- units: {length: cm, energy: cal, quantity: mol}\n",
        "rates:\n",
    ],
)
def test_what_is_in_other_files_is_read_with_them(tmp_path, units, section):
    """With the units of each file, whatever happens to these files afterwards."""
    other, file = tmp_path / "other.yaml", tmp_path / "m.yaml"
    file.write_text(
        units + GAS + "  reactions: [own, other.yaml/rates]\nown:\n" + RATE.format(1, 2)
    )
    for A in (1e10, 2e10):
        other.write_text(section + RATE.format(A, 1e4).replace("M", "N2"))
        os.utime(other, (A / 10, A / 10))  # Cantera keeps files of the same second
        mechanism = load_mechanism(file)
        assert mechanism is load_mechanism(file)
        assert np.array_equal(rates(mechanism.solution()), rates(ct.Solution(str(file))))
    other.unlink()
    assert mechanism.solution().n_reactions == 2
    with pytest.raises(ValueError, match=r"names other.yaml/rates, and other.yaml is not there"):
        load_mechanism(file)
    other.write_text("species: []\n")
    with pytest.raises(ValueError, match=r"names other.yaml/rates, and there is no such list"):
        load_mechanism(file)


EXTENSION = "[{type: python, name: imported_by_cantera}]"
JSON = (
    '{"extensions": [{"type": "python", "name": "imported_by_cantera"}], "phases": [{"name": "gas",'
    '"thermo": "ideal-gas", "species": [{"h2o2.yaml/species": ["H2", "H", "N2"]}], "kinetics": '
    '"gas"}], "reactions": [{"equation": "H2 => 2 H", "rate-constant": {"A": 1, "b": 0, "Ea": 0}}]}'
)


@pytest.mark.parametrize(
    "text",
    [
        f"extensions: {EXTENSION}\n{WHOLE}",
        f"{WHOLE}'extensions' : {EXTENSION}\n",
        f'{WHOLE}"\\x65xtensions": {EXTENSION}\n',
        f'{WHOLE}? "exten\\\n  sions"\n: {EXTENSION}\n',
        f'{WHOLE}? "exten\\\rsions"\n: {EXTENSION}\n',
        f"{WHOLE}? extensions\n: {EXTENSION}\n",
        f"{WHOLE}x: &x extensions\n*x : {EXTENSION}\n",
        JSON,
        GAS + "  reactions: [other.yaml/reactions]\n",
        GAS.replace("- name: gas", "- {name: b, thermo: ideal-gas, species: [{other.yaml/species: "
                    "all}]}\n- name: gas") + WHOLE[len(GAS):],
    ],
)  # fmt: skip
def test_no_module_of_python_is_imported(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("imported_by_cantera.py").write_text("")
    Path("other.yaml").write_text(f"extensions: {EXTENSION}\n{WHOLE}")
    Path("m.yaml").write_text(text)
    for read in (lambda: load_mechanism("m.yaml"), lambda: mechanism_of_text(text, "m.yaml", "")):
        with pytest.raises(ValueError, match="key `extensions`.*Remove it"):
            read()
    assert "imported_by_cantera" not in sys.modules


def test_elements_of_other_files_are_found_by_their_symbol(tmp_path):
    mine = "  elements: [{other.yaml/isotopes: [H]}, {default: [N, O, Ar]}]\n"
    (tmp_path / "other.yaml").write_text("isotopes:\n- {symbol: H, atomic-weight: 3.0}\n")
    (tmp_path / "m.yaml").write_text(GAS + mine + WHOLE[len(GAS) :])
    assert load_mechanism(tmp_path / "m.yaml").molecular_weights[0] == 6.0


@pytest.mark.parametrize("key", ["[[other.yaml/rates]]", "all, ? [a, b] : 3, other: [1]"])
def test_keys_and_references_that_are_lists_have_a_message(key):
    phase = "phases:\n- {name: gas, thermo: ideal-gas, kinetics: gas, reactions: " + key + "}\n"
    with pytest.raises(ValueError, match="cannot be read by Cantera"):
        mechanism_of_text(phase, "m.yaml", "")


def test_phases_beside_an_interface_are_not_opened(tmp_path, monkeypatch):
    """They may be pipes, which never end."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.yaml")
    surface = (
        "- name: wall\n  thermo: ideal-surface\n  kinetics: surface\n  reactions: none\n"
        "  species: [{ptcombust.yaml/species: [PT(S)]}]\n  site-density: 1e-9\n"
        "  adjacent-phases: [{pipe.yaml/phases: [gas]}]\n"
    )
    text = WHOLE.replace("phases:\n", f"phases:\n{surface}")
    assert mechanism_of_text(text, "m.yaml", "").phase == "gas"


def test_a_gas_that_cannot_be_read_is_told(caplog):
    other = "- {name: one, thermo: ideal-gas, species: [Q], kinetics: gas}\n"
    text = WHOLE.replace("phases:\n", f"phases:\n{other}")
    assert mechanism_of_text(text, "m.yaml", "").phase == "gas"
    assert "phase gas is taken; phase one cannot be read by Cantera" in caplog.text


def test_the_word_extensions_anchors_and_latin_1_are_no_fault(tmp_path):
    file = tmp_path / "m.yaml"
    text = f"description: extensions of it; Müller & Söhne, *a\n{WHOLE}"
    rate = "rate-constant: {A: 1e13, b: 0, Ea: 0}"
    text = text.replace(rate, "rate-constant: &k {A: 1e13, b: 0, Ea: 0}")
    text += "- equation: H2 => 2 H\n  rate-constant: *k\n"
    file.write_bytes(text.replace("\n", "\r\n").encode("latin-1"))
    assert load_mechanism(file).solution().reaction(1).rate.pre_exponential_factor == 1e13


def bomb(tmp_path: Path) -> Path:
    """Nested aliases, which stand for 9^9 values."""
    names, file = "abcdefghi", tmp_path / "bomb.yaml"
    lines = [
        f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip(names, names[1:], strict=False)
    ]
    file.write_text(f"a: &a [{','.join('x' * 9)}]\n{''.join(lines)}{WHOLE}")
    return file


def fifo(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "fifo.yaml")
    return tmp_path / "fifo.yaml"


def text(content: bytes):
    def make(tmp_path: Path) -> Path:
        file = tmp_path / "x.yaml"
        file.write_bytes(content)
        return file

    return make


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (bomb, r"aliases \(as in \*name\) stand for more than 10,000,000 values: write the file"),
        (fifo, "is no regular file: give the path of a YAML file"),
        (lambda _: "/dev/zero", "is no regular file: give the path of a YAML file"),
        (text(b"a: &a [*a]\n" + WHOLE.encode()), "stand for more than"),
        (text(b"x" * 5000), "has 0 MB, and no mechanism has more than 0: give the path"),
        (text(b"phases: \0"), r"is no text \(it has the character '\\x00'\): give the path"),
        (text(b"phases: " + b"[" * 3000), r"is no YAML \(nested too deeply\)"),
        (text(b""), "has no list of phases with names: give the path of a YAML file"),
    ],
)
def test_what_is_no_mechanism_is_refused_at_once(tmp_path, monkeypatch, make, reason):
    monkeypatch.setattr(mechanism_file, "LARGEST", 4000)
    with pytest.raises(ValueError, match=reason):
        load_mechanism(make(tmp_path))


@pytest.mark.parametrize("name", ["A\n#error", "A\u2028B", "A\x7fB", "A\u202eB"])
def test_names_that_cannot_be_printed_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match="the name .* has characters that cannot be printed"):
        mechanism_of_text(WHOLE.replace("name: gas", f"name: {json.dumps(name)}"), "m.yaml", "")
    file = tmp_path / f"{name}.yaml"
    file.write_text(WHOLE)
    with pytest.raises(ValueError, match="the name .* has characters that cannot be printed"):
        load_mechanism(file)


@pytest.mark.parametrize("key", ["qssa_species", "steady-state-species", "quasi-steady-species"])
@pytest.mark.parametrize("place", ["{}  {}: [H]\n{}", "{}{}: [H]\n{}", '{}"{}": [H]\n{}'])
def test_species_in_a_quasi_steady_state_are_told(caplog, key, place):
    mechanism_of_text(place.format(GAS, key, WHOLE[len(GAS) :]), "skeletal.yaml", "")
    assert caplog.messages == [f"skeletal.yaml: `{key}` is left out: all species are integrated"]


OTHER = GAS.replace("h2o2.yaml", "other.yaml")
PHASE = GAS.partition("\n")[2]
TWICE = {
    "phases": (GAS + OTHER, "it has the key 'phases' twice"),
    "quoted": (GAS + OTHER.replace("phases", '"ph\\x61ses"', 1), "it has the key 'phases' twice"),
    "species": (
        WHOLE.replace("  kinetics", "  species: [{other.yaml/species: [H2, H, N2]}]\n  kinetics"),
        "it has the key 'species' twice",
    ),
    "name": (
        WHOLE.replace("  kinetics", "  name: another\n  kinetics"),
        "it has the key 'name' twice",
    ),
    "one name": (WHOLE.replace(PHASE, PHASE + PHASE), "two of its phases have one name"),
}


@pytest.mark.parametrize("what", TWICE)
def test_a_key_that_decides_what_is_read_is_there_once(tmp_path, what):
    """Cantera takes the last of two, and would open a file that was not looked at."""
    text, reason = TWICE[what]
    (tmp_path / "m.yaml").write_text(text)
    with pytest.raises(ValueError, match=f"m.yaml' cannot be read: {reason}"):
        load_mechanism(tmp_path / "m.yaml")
