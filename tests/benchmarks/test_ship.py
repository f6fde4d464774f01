"""Shipping a network of a run: its file, its card, its checksum; only as it was validated."""

import hashlib
from dataclasses import asdict

import pytest

from benchmarks import ship as module
from benchmarks.ship import main, ship
from combred.config.command import resolve
from combred.files.records import digest, write_json
from combred.surrogates.files.card import read_card
from combred.surrogates.files.storage import save_surrogate
from combred.surrogates.model.forms import make_surrogate
from combred.surrogates.model.transform import StateTransform

ERROR = {"median": 0.01, "worst": 0.02}


@pytest.fixture
def run(tmp_path, drm19, make_network):
    """The folder of a validated run, with an untrained network of stage 1."""
    folder, n = tmp_path / "runs/mine", 2 + drm19.n_species
    folder.mkdir(parents=True)
    transform = StateTransform(drm19.n_species, 0.1, 1e-13, 1 / 3)
    transform.dt_range.fill_(1e-6)
    surrogate = make_surrogate(drm19, transform, make_network([n, 8, n]))
    save_surrogate(folder / "stage1.safetensors", surrogate, drm19)
    measured = {"weights": 2 * 8 * n, "all_ignite": True, "delay_error": ERROR, "worst_case": "x"}
    measured |= {"burnt_T_error": ERROR}
    networks = {"stage1": digest(folder / "stage1.safetensors")}
    validation = {"stages": {"stage1": measured}, "networks": networks, "inputs": {"dt": 1e-6}}
    settings = resolve(["profile=condensed", "run=mine", "stage=2"])
    write_json(folder / "settings.json", asdict(settings))
    write_json(folder / "sample.json", {"rows": 480})
    write_json(folder / "validation.json", validation)
    return folder


def test_the_command_ships_what_was_validated_and_renews_the_checksums(
    run, tmp_path, monkeypatch, capsys
):
    data = tmp_path / "data"
    (data / "mechanisms").mkdir(parents=True)
    (data / "mechanisms/a.yaml").write_text("a")
    monkeypatch.setattr(module, "FOLDER", data / "models")
    main([str(run), "1:small", "1:same"])
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("small: 368 weights, delay error 1.00 / 2.00 %") and len(told) == 2
    sums = dict(line.split("  ")[::-1] for line in (data / "SHA256SUMS").read_text().splitlines())
    written = [f"models/{name}.{end}" for name in ("same", "small")
               for end in ("json", "safetensors")]  # fmt: skip
    assert list(sums) == ["mechanisms/a.yaml", *written]
    for name in sums:
        assert sums[name] == hashlib.sha256((data / name).read_bytes()).hexdigest()
    small = data / "models/small.safetensors"
    assert small.read_bytes() == (run / "stage1.safetensors").read_bytes()
    card = read_card(small.with_suffix(".json"))
    assert card["format"] == 3 and card["dt"] == [1e-6, 1e-6]
    assert card["accuracy"]["delay_error"] == ERROR and card["network"]["weights"] == 368
    made = card["training"]
    assert (made["states"], made["stage"], made["start"]) == (480, 1, "scratch")
    assert made["command"] == "python -m combred.pipeline profile=condensed run=mine stage=1"
    with pytest.raises(SystemExit, match="STAGE:MODEL"):
        main([str(run)])
    with pytest.raises(ValueError, match="stage2.* has not been validated .* only=validate"):
        ship(run, 2, "other", tmp_path / "models")
    with (run / "stage1.safetensors").open("ab") as file:
        file.write(b" ")  # another file than the validated one
    with pytest.raises(ValueError, match="has not been validated"):
        ship(run, 1, "other", tmp_path / "models")
    assert not (tmp_path / "models").exists()
