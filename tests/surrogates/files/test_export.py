"""Files of a surrogate: safetensors and TorchScript, read back, and refused if they do not fit."""

import contextlib
import io
import json
import math
import os
import re
import zipfile

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from combred.chemistry.mechanism import load_mechanism
from combred.experiments.accuracy import ALONE, card_of_file
from combred.surrogates.files.card import make_card, read_card, up_to_date
from combred.surrogates.files.export import export_torchscript, load_torchscript
from combred.surrogates.files.storage import digest_of, load_surrogate, mechanism_of, save_surrogate
from combred.surrogates.model.forms import make_surrogate
from combred.surrogates.model.transform import StateTransform

ACCURACY = {"with_solver": {"delay_error": {"median": 0.01, "worst": 0.03}}}


@pytest.fixture(scope="module")
def fitted(surrogate, path):
    """The untrained surrogate with a training range fitted to the path."""
    surrogate.fit_trust([path.state])
    return surrogate.eval()


@pytest.fixture(scope="module")
def other(mechanism):
    """Whichever of the two mechanisms `mechanism` is not."""
    return load_mechanism("h2o2.yaml" if mechanism.name == "drm19.yaml" else "drm19.yaml")


def test_safetensors_give_the_same_surrogate_back(tmp_path, mechanism, fitted, path):
    save_surrogate(tmp_path / "s.safetensors", fitted, mechanism)
    again = load_surrogate(tmp_path / "s.safetensors", mechanism)
    assert torch.equal(again(path.state, path.steps), fitted(path.state, path.steps))
    trusted = fitted.trust(path.state, path.steps)
    assert torch.equal(again.trust(path.state, path.steps), trusted)
    assert again.dt_range == fitted.dt_range


WRONG = {
    "mechanism": (
        None, 5, "", ".", "..", "a/b.yaml", "../b.yaml", "a\\b.yaml", "x\n#include", "a\0b.yaml",
        "\x1b[2J", "x" * 300, ["a"], {"a": 1}, "\u202e.yaml",
    ),
    "mechanism_sha256": (5, "", "x" * 64, None),
    "widths": ([], [12], "x", None, [12.5, 12], [-1, 2], [True, 12], {}, [[12, 12]]),
    "boxcox": (0, -0.1, 1e-300, 1.5, "x", None, True, math.nan, [0.1]),
    "floor": (0, -1, 1e300, "x", None),
    "power": (0, -1, 1e9, math.inf, None),
    "kinetics": ("x", 1, None, []),
    "species": (["A"], "x", None, [5], {}),
    "inputs": (5, "x", []),
    "digest": (5, None),
    "carried_mechanism": (
        5, "x", [], {}, {"text": "x"}, {"text": 5, "phase": ""}, {"text": "x", "phase": 5},
        {"text": "x", "phase": "a\nb"}, {"text": "x", "phase": "", "more": ""},
    ),
}  # fmt: skip


def rewrite(file, identity: dict, tensors: dict) -> None:
    """The file of a surrogate with other content, and its own digest."""
    known = {"digest": digest_of(identity, tensors)} | identity
    save_file(tensors, file, {"combred": json.dumps(known)})


@pytest.fixture
def stored(tmp_path, mechanism, fitted):
    """A file of a surrogate, its metadata without the digest, and its tensors."""
    file = tmp_path / "s.safetensors"
    save_surrogate(file, fitted, mechanism, inputs={"seed": 0})
    with safe_open(file, "pt") as content:
        identity = json.loads(content.metadata()["combred"])
        tensors = {name: content.get_tensor(name) for name in content.keys()}
    del identity["digest"]
    return file, identity, tensors


def test_a_file_without_a_digest_is_damaged(stored, mechanism):
    file, identity, tensors = stored
    save_file(tensors, file, {"combred": json.dumps(identity)})
    with pytest.raises(ValueError, match="damaged"):
        load_surrogate(file, mechanism)


@pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")
@pytest.mark.parametrize("surrogate", ["transform"], indirect=True, scope="session")
@pytest.mark.parametrize("key", WRONG)
def test_metadata_that_are_wrong_are_told_in_one_sentence(stored, mechanism, key):
    """Whoever wrote them: the digest is right."""
    file, identity, tensors = stored
    for value in WRONG[key]:
        rewrite(file, identity | {key: value}, tensors)
        for read in (mechanism_of, lambda file: load_surrogate(file, mechanism)):
            if value == ["A"] and read is mechanism_of:
                continue  # the names of species are compared where they are used
            with pytest.raises(ValueError) as told:
                read(file)
            text = str(told.value)
            assert str(file) in text and (key in text or value == ["A"]) and "\n" not in text
            assert len(text) < 500 and "\x1b" not in text


@pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")
@pytest.mark.parametrize("surrogate", ["transform"], indirect=True, scope="session")
@pytest.mark.parametrize("content", ["[]", "5", "null", "[" * 100_000, "{}", "\ud800"])
def test_metadata_that_are_no_table_are_refused(stored, content):
    file, _, tensors = stored
    with contextlib.suppress(UnicodeEncodeError):
        save_file(tensors, file, {"combred": content})
        with pytest.raises(ValueError, match="not a complete network of combred"):
            mechanism_of(file)


@pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")
@pytest.mark.parametrize("surrogate", ["qss_transform"], indirect=True, scope="session")
def test_tensors_that_are_no_numbers_or_not_the_mechanisms_are_refused(stored, mechanism):
    file, identity, tensors = stored
    load_surrogate(file, mechanism)
    for name, tensor in tensors.items():
        if name.startswith("network.layers.") and not name.startswith("network.layers.0"):
            continue  # alike
        others = [torch.full_like(tensor, torch.nan)] if tensor.is_floating_point() else []
        if name.startswith(("closure.", "transform.qss.")):
            others += [~tensor] if tensor.dtype == torch.bool else [tensor + 1]
        if name.endswith(("std", "scale")):
            others.append(0 * tensor)
        if name in ("max_mahalanobis", "closure.projection.reactive"):
            others.append(tensor.to(torch.complex64))
        for other in others:
            rewrite(file, identity, tensors | {name: other})
            with pytest.raises(ValueError, match=re.escape(name)):
                load_surrogate(file, mechanism)


@pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")
@pytest.mark.parametrize("surrogate", ["transform"], indirect=True, scope="session")
def test_widths_that_need_any_memory_are_refused_before_it_is_taken(stored, mechanism):
    file, identity, tensors = stored
    n = identity["widths"]
    for widths in ([n[0], 10**12, n[-1]], [*n[:-1], 10**15], [n[0]] * 5, n[:2]):
        rewrite(file, identity | {"widths": widths}, tensors)
        with pytest.raises(ValueError, match="its tensors are not those of a network of widths"):
            load_surrogate(file, mechanism)


@pytest.mark.parametrize("surrogate", ["qss_transform"], indirect=True, scope="session")
@pytest.mark.parametrize(
    "other",
    [{"steps_with_predicted_rates": None}, {"steps_with_predicted_rates": [1.0]}, {"absent": None}],
)
def test_a_network_for_other_quasi_steady_steps_is_refused(stored, mechanism, other):
    """As those of combred 0.3.0, which fit by their widths."""
    file, identity, tensors = stored
    rewrite(file, identity | other, tensors)
    with pytest.raises(ValueError, match="another version of combred"):
        load_surrogate(file, mechanism)


def test_a_surrogate_of_another_mechanism_is_refused_with_both_names(stored, mechanism, other):
    with pytest.raises(ValueError, match=f"(?s){mechanism.name}.*{other.name}"):
        load_surrogate(stored[0], other)


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-50], lambda b: b"PK\x03\x04" + b[4:], lambda b: b""]
)
def test_a_damaged_file_is_refused_with_the_remedy(stored, mechanism, damage):
    file = stored[0]
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(ValueError, match="ove it away"):
        load_surrogate(file, mechanism)


def test_a_flipped_bit_is_never_used(stored, mechanism):
    """Anywhere in the file: 60 random places, and ten in the header."""
    file, rng = stored[0], np.random.default_rng(0)
    whole = file.read_bytes()
    for place in [*rng.integers(len(whole), size=60), *rng.integers(8, 900, size=10)]:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.integers(8)
        file.write_bytes(flipped)
        with pytest.raises(ValueError):
            load_surrogate(file, mechanism)


@pytest.fixture(scope="module")
def exported(tmp_path_factory, mechanism, fitted, path):
    """Path, loaded module, stored card and given card of an exported surrogate."""
    card = make_card(fitted, mechanism, ACCURACY, {"states": 60})
    file = tmp_path_factory.mktemp("exported") / "surrogate.pt"
    numbers = export_torchscript(file, fitted, card, path.state.numpy())
    assert numbers["largest_difference"] < 1e-12  # the same operations in the same order
    assert numbers["bytes"] == file.stat().st_size
    return file, *load_torchscript(file), card


def test_the_card_of_torchscript_tells_the_network_alone_first(exported):
    stored = exported[2]["accuracy"]
    assert list(stored)[:2] == ["this_file", "network_alone"]
    assert stored["network_alone"] == "not measured"
    assert stored["with_solver"] == ACCURACY["with_solver"]


def test_an_older_card_in_a_file_loads_and_its_missing_column_is_not_measured(tmp_path):
    old = SHORT | {"network": {"weights": 9}, "accuracy": {"delay_error": {"worst": 0.03}}}
    file = tmp_path / "old.pt"
    module = torch.jit.script(Other(["A"]))
    torch.jit.save(module, file, _extra_files={"card.json": json.dumps(old)})
    accuracy = load_torchscript(file)[1]["accuracy"]
    assert accuracy["network_alone"] == "not measured"
    assert accuracy["with_solver"] == {"delay_error": {"worst": 0.03}}


def test_torchscript_agrees_with_eager_for_any_n(exported, fitted, mechanism, path):
    loaded = exported[1]
    for n in (0, 1, 2, 33):
        given = path.state[:n], path.steps[:n]
        assert torch.allclose(loaded(*given), fitted(*given), rtol=1e-12)
        assert loaded.source(*given).shape == (n, mechanism.n_species)
        assert loaded.trust(*given).dtype == torch.bool
    # The source is the change over dt; Y of the path sums to 1 within 1e-9.
    change = loaded(path.state, path.steps)[:, 2:] - path.state[:, 2:]
    rate = loaded.source(path.state, path.steps)
    assert torch.allclose(rate * path.dt, change, atol=1e-8)


@pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")
def test_a_flipped_bit_of_the_exported_file_changes_no_answer(exported, path, tmp_path):
    """60 random places: padding may change, all else is refused."""
    file, loaded = exported[:2]
    known, whole = loaded(path.state, path.steps), file.read_bytes()
    rng, refused = np.random.default_rng(0), 0
    for place in rng.integers(len(whole), size=60):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.integers(8)
        (tmp_path / "flipped.pt").write_bytes(flipped)
        try:
            module = load_torchscript(tmp_path / "flipped.pt")[0]
        except (ValueError, RuntimeError):
            refused += 1
        else:
            assert torch.equal(module(path.state, path.steps), known)
    assert refused > 30


def test_another_file_than_an_exported_surrogate_is_named_as_such(tmp_path):
    file = tmp_path / "other.pt"
    torch.save({"a": torch.ones(3)}, file)
    with pytest.raises(ValueError, match=r"other.pt is an archive of torch without surrogate\. c"):
        load_torchscript(file)
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), file)
    with pytest.raises(ValueError, match="without surrogate"):
        load_torchscript(str(file))
    torch.jit.save(torch.jit.script(torch.nn.ReLU()), file, _extra_files={"card.json": "[]"})
    with pytest.raises(ValueError, match="no table of keys"):
        load_torchscript(file)
    for content in (b"{}", b"", b"\x7fELF", b"\x00" * 9):
        file.write_bytes(content)
        with pytest.raises(ValueError, match="no archive of torch. combred.export.load_torchscri"):
            load_torchscript(file)
    with zipfile.ZipFile(file, "w") as parts:
        parts.writestr("a", b"b")
    with pytest.raises(ValueError, match="without surrogate"):
        load_torchscript(file)
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, "/dev/zero", tmp_path / "none"):
        for read in (load_torchscript, mechanism_of):
            with pytest.raises(FileNotFoundError, match="there is no "):
                read(path)


class Writes(torch.nn.Module):
    """A module that writes a file when it is loaded."""

    @torch.jit.export
    def __getstate__(self) -> tuple[int, bool]:
        return 1, self.training

    @torch.jit.export
    def __setstate__(self, state: tuple[int, bool]):
        self.training = state[1]
        torch.save(torch.ones(1), "written")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def test_code_that_writes_a_file_is_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.jit.save(torch.jit.script(Writes()), "a.pt", _extra_files={"card.json": "{}"})
    with pytest.raises(ValueError, match="reaches beyond the network"):
        load_torchscript("a.pt")
    assert not (tmp_path / "written").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_an_archive_that_holds_its_code_twice_is_refused(exported):
    """torch would run the first, which reads as it is: the second changes a number."""
    whole = exported[0].read_bytes()
    file = io.BytesIO(whole)
    with zipfile.ZipFile(io.BytesIO(whole)) as parts, zipfile.ZipFile(file, "a") as writer:
        name = next(name for name in parts.namelist() if name.endswith(".py"))
        writer.writestr(name, parts.read(name) + b"\n")
    with pytest.raises(ValueError, match=f"is damaged.*it has the part {name} twice"):
        load_torchscript(file)


def test_torch_gets_the_parts_that_were_checked_and_no_other_byte(exported, path):
    """A second archive behind the first is what Python reads; bytes behind it are nobody's."""
    whole, loaded = exported[0].read_bytes(), exported[1]
    other = io.BytesIO()
    torch.jit.save(torch.jit.script(Other(["A"])), other, _extra_files={"card.json": "{}"})
    known = loaded(path.state, path.steps)
    for content in (other.getvalue() + whole, whole + b"PK\3\4"):
        module, card = load_torchscript(io.BytesIO(content))
        assert torch.equal(module(path.state, path.steps), known) and card == exported[2]


class Other(torch.nn.Module):
    """A module with the methods of a surrogate."""

    def __init__(self, species: list[str]):
        super().__init__()
        self.species = species

    def forward(self, state: torch.Tensor, dt: torch.Tensor) -> torch.Tensor:
        return state

    @torch.jit.export
    def next_state_and_error(self, state: torch.Tensor, dt: torch.Tensor):
        return state, dt

    @torch.jit.export
    def trust(self, state: torch.Tensor, dt: torch.Tensor) -> torch.Tensor:
        return dt > 0.0

    @torch.jit.export
    def source(self, state: torch.Tensor, dt: torch.Tensor) -> torch.Tensor:
        return state[:, 2:]


class OfOneArgument(torch.nn.Module):
    def forward(self, state: torch.Tensor) -> torch.Tensor:
        return state


class OfNumbers(Other):
    def forward(self, state: torch.Tensor, dt: float) -> torch.Tensor:
        return state


SHORT = {
    "format": 3, "mechanism": "h2o2.yaml", "mechanism_sha256": "0", "species": ["A"],
    "dt": [1e-6, 1e-6], "tolerance": 0.01, "methods": {"trust(state, dt)": "(n,)"},
}  # fmt: skip
CARDS = {
    "{}": "its card is of format None",
    "5": "its card is no table of keys",
    '{"format": 3}': "its card lacks mechanism, mechanism_sha256, species, dt, tolerance, methods",
    '{"format": 3, "format": 3}': "it has the key 'format' twice",
    json.dumps(SHORT | {"species": ["B"]}): "its card names other species than its module",
    json.dumps(SHORT | {"methods": {"more(state)": ""}}): "its module has no method more",
    json.dumps(SHORT | {"methods": ["trust"]}): "its card has no table of methods",
    "[" * 100_000: "nested too deeply",
    "{": "Expecting",
}


@pytest.mark.parametrize("card", CARDS)
def test_a_module_without_its_card_is_no_surrogate(card, tmp_path):
    file, module = tmp_path / "a.pt", torch.jit.script(Other(["A"]))
    torch.jit.save(module, file, _extra_files={"card.json": json.dumps(SHORT)})
    assert load_torchscript(file)[1] == up_to_date(SHORT)
    torch.jit.save(module, file, _extra_files={"card.json": card})
    with pytest.raises(ValueError, match=f"a.pt is no surrogate of combred: {CARDS[card]}") as told:
        load_torchscript(file)
    assert "\n" not in str(told.value) and len(str(told.value)) < 500


@pytest.mark.parametrize(
    ("module", "why"),
    [
        (OfOneArgument(), "its module has no method next_state_and_error"),
        (OfNumbers(["A"]), "its method forward has the types Tensor float Tensor"),
        (torch.nn.ParameterList([torch.ones(1)]), "its module has no method forward"),
    ],
)
def test_a_module_of_other_methods_is_no_surrogate(module, why, tmp_path):
    file = tmp_path / "a.pt"
    torch.jit.save(torch.jit.script(module), file, _extra_files={"card.json": json.dumps(SHORT)})
    with pytest.raises(ValueError, match=why):
        load_torchscript(file)


def test_a_card_of_few_keys_is_completed(tmp_path, fitted, mechanism, path):
    file = tmp_path / "surrogate.pt"
    export_torchscript(file, fitted, {"accuracy": ACCURACY}, path.state.numpy())
    card = load_torchscript(file)[1]
    made = card_of_file(make_card(fitted, mechanism, ACCURACY, card["training"]), ALONE)
    assert card == made == read_card(file.with_suffix(".json"))


def test_the_exported_file_needs_operators_of_libtorch_only(exported, optimized):
    loaded, _ = load_torchscript(exported[0])  # anew: the other has run without optimisation
    operators = torch.jit.export_opnames(loaded)
    assert operators and all(name.startswith(("aten::", "prim::Tuple")) for name in operators)


def test_the_card_is_in_the_exported_file_and_beside_it(exported):
    file, loaded, stored, card = exported
    beside = file.with_suffix(".json")
    assert stored == json.loads(beside.read_text()) == read_card(beside)
    assert stored | {"accuracy": ACCURACY} == card
    for call in card["methods"]:
        assert callable(getattr(loaded, call.partition("(")[0]))


def test_an_export_that_differs_from_the_surrogate_is_not_written(
    tmp_path, h2o2, make_network, monkeypatch
):
    transform = StateTransform(h2o2.n_species, 0.1, 1e-13, 1 / 3)
    transform.dt_range.fill_(1e-6)
    surrogate = make_surrogate(h2o2, transform, make_network([12, 4, 12]))
    monkeypatch.setattr(
        "combred.surrogates.files.export.load_torchscript",
        lambda file: (torch.jit.load(file), {"other": 1}),
    )
    states = np.array([[1500.0, 1e5, *np.full(10, 0.1)]])
    with pytest.raises(RuntimeError, match="does not agree"):
        card = make_card(surrogate, h2o2, ACCURACY, {})
        export_torchscript(tmp_path / "surrogate.pt", surrogate, card, states)
    assert not (tmp_path / "surrogate.pt").exists()


def test_an_exported_surrogate_has_no_gradients_and_refuses_other_inputs(exported, path):
    loaded = exported[1]
    assert not loaded(path.state, path.steps).requires_grad
    for wrong in (path.state.float(), path.state[:, :-1], path.state[0]):
        for call in (loaded.forward, loaded.source, loaded.trust):
            with pytest.raises(torch.jit.Error, match="states are float64 of shape"):
                call(wrong, path.steps)
    with pytest.raises(torch.jit.Error, match="time steps are positive and finite"):
        loaded(path.state, 0.0 * path.steps)
