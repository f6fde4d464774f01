"""Files: what is written comes back, what is damaged or foreign is refused."""

import json

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from combred.chemistry.mechanism import load_mechanism
from combred.surrogate.export import export_torchscript, load_torchscript, make_card
from combred.surrogate.storage import load_surrogate, save_surrogate

ACCURACY = {"delay_error": {"median": 0.01, "worst": 0.03}}


@pytest.fixture(scope="module")
def trusting(surrogate, path):
    """The untrained surrogate with limits of trust fitted to the path."""
    surrogate.fit_trust([path.state])
    return surrogate.eval()


@pytest.fixture(scope="module")
def other(mechanism):
    """Whichever of the two mechanisms `mechanism` is not."""
    return load_mechanism("h2o2.yaml" if mechanism.name == "drm19.yaml" else "drm19.yaml")


def test_safetensors_give_back_the_same_surrogate(tmp_path, mechanism, trusting, path):
    save_surrogate(tmp_path / "s.safetensors", trusting, mechanism)
    again = load_surrogate(tmp_path / "s.safetensors", mechanism)
    assert torch.equal(again(path.state), trusting(path.state))
    assert torch.equal(again.trust(path.state), trusting.trust(path.state))
    assert again.dt == trusting.dt


def test_a_file_from_before_there_were_kinetics_sees_the_state_alone(tmp_path, mechanism, trusting):
    if trusting.transform.evaluations:
        pytest.skip("the file has them")
    file = tmp_path / "s.safetensors"
    save_surrogate(file, trusting, mechanism)
    with safe_open(file, "pt") as stored:
        identity = json.loads(stored.metadata()["combred"])
        tensors = {name: stored.get_tensor(name) for name in stored.keys()}
    del identity["kinetics"]
    save_file(tensors, file, {"combred": json.dumps(identity)})
    assert load_surrogate(file, mechanism).transform.evaluations == 0


def test_half_precision_halves_the_network_and_rounds_it_alone(tmp_path, mechanism, trusting, path):
    whole, half = tmp_path / "whole.safetensors", tmp_path / "half.safetensors"
    save_surrogate(whole, trusting, mechanism)
    save_surrogate(half, trusting, mechanism, half=True)
    parameters = sum(p.numel() for p in trusting.network.parameters())
    assert abs(whole.stat().st_size - half.stat().st_size - 2 * parameters) < 64  # the header
    again = load_surrogate(half, mechanism).state_dict()
    for name, tensor in trusting.state_dict().items():
        assert again[name].dtype == tensor.dtype
        exact = tensor.half().to(tensor) if name.startswith("network.") else tensor
        assert torch.equal(again[name], exact), name


def test_a_surrogate_of_another_mechanism_is_refused_with_both_named(
    tmp_path, mechanism, other, trusting
):
    save_surrogate(tmp_path / "s.safetensors", trusting, mechanism)
    with pytest.raises(ValueError, match=f"(?s){mechanism.name}.*{other.name}"):
        load_surrogate(tmp_path / "s.safetensors", other)


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-50], lambda b: b"PK\x03\x04" + b[4:], lambda b: b""]
)
def test_a_damaged_file_is_refused_with_the_mend(tmp_path, mechanism, trusting, damage):
    file = tmp_path / "s.safetensors"
    save_surrogate(file, trusting, mechanism)
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(ValueError, match="Delete it"):
        load_surrogate(file, mechanism)


def test_a_missing_file_names_the_command(tmp_path, mechanism):
    with pytest.raises(FileNotFoundError, match="combred.pipeline"):
        load_surrogate(tmp_path / "none.safetensors", mechanism)


@pytest.fixture
def exported(tmp_path, mechanism, trusting, path):
    """Numbers, loaded module, stored card and the card given, of an export."""
    card = make_card(trusting, mechanism, ACCURACY, {"states": 60})
    file = tmp_path / "surrogate.pt"
    numbers = export_torchscript(file, trusting, card, path.state.numpy())
    return numbers, *load_torchscript(file), card


def test_torchscript_agrees_with_eager_for_any_n(exported, trusting, mechanism, path):
    numbers, loaded, _, _ = exported
    assert numbers["largest_difference"] < 1e-12  # the same operations in the same order
    for n in (0, 1, 2, 33):
        states = path.state[:n]
        assert torch.allclose(loaded(states), trusting(states), rtol=1e-12)
        assert loaded.source(states).shape == (n, mechanism.n_species)
        assert loaded.trust(states).dtype == torch.bool
    # source is the change over dt; the states sum to 1 within 1e-9 (Cantera's clipped path)
    change = loaded(path.state)[:, 2:] - path.state[:, 2:]
    assert torch.allclose(loaded.source(path.state) * trusting.dt, change, atol=1e-8)


def test_the_exported_file_holds_operators_of_plain_libtorch_only(exported):
    operators = torch.jit.export_opnames(exported[1])
    assert operators and all(name.startswith(("aten::", "prim::Tuple")) for name in operators)


@torch.no_grad()
def test_the_exported_file_tells_its_doubts(exported, trusting, path):
    loaded, card = exported[1], exported[3]
    later, doubt = loaded.next_state_and_error(path.state)
    assert torch.equal(later, loaded(path.state))
    assert torch.equal(loaded.closure_error(path.state), doubt)
    assert torch.equal(loaded.trust(path.state), doubt <= 1.0)
    assert torch.equal(loaded.in_training_range(path.state), trusting.in_training_range(path.state))
    for name in ("trust", "closure_error", "next_state_and_error", "in_training_range"):
        assert f"{name}(state)" in card["methods"]
    assert "0.07 of the step's change of Y + 7e-05" in card["methods"]["closure_error(state)"]


def test_the_card_says_what_a_user_needs(exported, trusting, mechanism, path, tmp_path):
    _, _, stored, card = exported
    assert stored == card == json.loads((tmp_path / "surrogate.json").read_text())
    assert card["mechanism_sha256"] == mechanism.sha256
    assert card["input"][:3] == ["T", "p", f"Y_{mechanism.species_names[0]}"]
    assert len(card["input"]) == 2 + mechanism.n_species
    assert card["units"]["T"] == "K" and card["dt"] == 1e-6 and card["accuracy"] == ACCURACY
    # The range is that of the states, back through the Box-Cox transform (float64: 1e-9).
    k = mechanism.index("H2O")
    assert card["range"]["Y"]["H2O"][1] == pytest.approx(path.Y[:, k].max(), rel=1e-9)
    n, seen = 2 + mechanism.n_species, trusting.transform.n_inputs
    assert card["network"]["weights"] == seen * 24 + 24 * 16 + 16 * n
    assert card["network"]["kinetics"] == trusting.transform.evaluations


def test_an_export_that_disagrees_with_the_surrogate_is_not_left_behind(
    tmp_path, mechanism, trusting, path, monkeypatch
):
    card = make_card(trusting, mechanism, ACCURACY, {})
    monkeypatch.setattr(
        "combred.surrogate.export.load_torchscript",
        lambda file: (torch.jit.load(file), {"other": 1}),
    )
    with pytest.raises(RuntimeError, match="does not agree"):
        export_torchscript(tmp_path / "surrogate.pt", trusting, card, path.state.numpy())
    assert not (tmp_path / "surrogate.pt").exists()


def test_an_exported_surrogate_needs_no_gradients_and_refuses_what_is_no_state(exported, path):
    loaded = exported[1]
    assert not loaded(path.state).requires_grad
    for wrong in (path.state.float(), path.state[:, :-1], path.state[0]):
        for call in (loaded.forward, loaded.source, loaded.trust):
            with pytest.raises(torch.jit.Error, match="states are float64 of shape"):
                call(wrong)
