"""The image networks of examples/vision, their readers and training, against published numbers."""

import json
from dataclasses import replace

import pytest
import torch

from combred.reduction.automatic import AutomaticSettings
from combred.reduction.network.size import count_parameters
from examples.vision import (
    channel_similarity,
    complexity,
    condensation,
    neuron_merging,
    tables,
    training,
)
from examples.vision.images import Images
from examples.vision.networks import (
    VGG16,
    LeNet,
    MobileNetV2,
    PreactivationResNet,
    ResNet,
    WideResNet,
)
from examples.vision.training import FitSettings

# Parameters, and what the papers print, in millions. Those of VGG-16 and the residual networks are
# counted from the layers that the papers list.
PUBLISHED = {
    "LeNet-300-100": (LeNet, {}, 266_610, None),
    "VGG-16, Zhang et al.": (VGG16, {}, 14_724_042, 14.7),
    "VGG-16, Kim et al.": (VGG16, {"hidden": 512}, 14_987_722, 15.0),
    "ResNet-56": (ResNet, {"depth": 56}, 853_018, 0.85),
    "ResNet-110": (ResNet, {"depth": 110}, 1_727_962, 1.73),
    "WRN-40-4": (WideResNet, {}, 8_949_210, 8.9),
    "MobileNetV2": (MobileNetV2, {}, 2_236_682, None),  # Chen & Xu 2024, section 3.2.3
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameter_counts_are_the_published_ones(name):
    kind, arguments, count, printed = PUBLISHED[name]
    assert count_parameters(kind(**arguments)) == count
    if printed is not None:
        assert round(count / 1e6, 1 if printed > 2 else 2) == printed


def test_flops_of_zhang_table_1():
    image = torch.zeros(1, 3, 32, 32)
    for classes, vgg, resnet in ((10, 627.36, 341.23), (100, 627.45, 341.28)):
        for network, mflop in (
            (VGG16(classes=classes), vgg), (PreactivationResNet(110, classes=classes), resnet)
        ):  # fmt: skip
            assert round(channel_similarity.n_flops(network, image) / 1e6, 2) == mflop


@pytest.fixture(scope="module")
def stripes() -> Images:
    """Noisy 8 x 8 images of two classes: bright columns left, or right."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(0, 2, (96,), generator=generator)
    images = 0.5 * torch.randn(96, 1, 8, 8, generator=generator)
    for i, label in enumerate(labels):
        images[i, 0, :, 4 * label : 4 * label + 4] += 1.0
    return Images("stripes", images[:64], labels[:64], images[64:], labels[64:], 2)


@pytest.fixture
def tiny(stripes, monkeypatch, tmp_path):
    """A function that runs a script on a few images of 16 x 16 and gives the tables it wrote."""
    large = {k: getattr(stripes, k).repeat(1, 1, 2, 2) for k in ("train", "test")}
    few = replace(stripes, name="digits", **large)
    monkeypatch.setattr(training, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(tables, "RESULTS", tmp_path / "results")
    monkeypatch.setattr("sys.argv", ["script"])

    def run(script, name: str) -> list[list[dict]]:
        monkeypatch.setattr(script, "load_images", lambda *_, **__: few)
        script.main()
        written = json.loads((tmp_path / "results" / f"{name}.json").read_text())
        return [rows for rows in written.values() if isinstance(rows, list)]

    return run


ONCE = FitSettings(1, lr=0.05, batch=32)


@pytest.mark.slow
def test_complexity_runs_and_keeps_its_rows(tiny, monkeypatch, capsys):
    # At this rate of theta all units and blocks go, at the second price.
    how = complexity.Recipe(FitSettings(3, lr=0.05, batch=16), 0.2, settle=2)
    monkeypatch.setitem(complexity.RECIPES, "digits", how)
    depth, data, paper = complexity.PUBLISHED["5"]
    two = dict(list(paper.items())[:2])
    monkeypatch.setitem(complexity.PUBLISHED, "5", (depth, data, two))
    (rows,) = tiny(complexity, "complexity")
    assert [(row["beta"], row["prunes"]) for row in rows] == [(1.7, "both"), (0.5, "both")]
    assert how.theta_0 == 0.75  # table 1 of the paper
    assert all(row["pPR"] > 0 and row["layers"] % 2 == 0 for row in rows)
    assert "paper: fPR" in capsys.readouterr().out
    monkeypatch.setattr(complexity, "train_sparsely", None)  # rows and networks are kept
    assert tiny(complexity, "complexity") == [rows]
    monkeypatch.setattr("sys.argv", ["script", "--table", "4"])
    with pytest.raises(SystemExit, match="give --data FOLDER"):
        complexity.main()


@pytest.mark.slow
def test_condensation_runs(tiny, monkeypatch):
    low = dict.fromkeys(("main_max", "layer_max"), 0.02)
    low |= dict.fromkeys(("main_min", "layer_min", "last_criterion"), 0.01)
    automatic = AutomaticSettings(
        **low, deviation=None, logit=0.1, max_steps=3, target=20_000, layers=condensation.BLOCKS[:2]
    )
    plan = condensation.Plan(0.125, 20, ONCE, automatic, trains_first=True)
    monkeypatch.setattr(condensation, "DIGITS", plan)
    rows, (last,) = tiny(condensation, "condensation")
    assert rows[0]["stage"] == "original" and rows[-1]["parameters"] < rows[0]["parameters"]
    assert last["epochs"] <= 3 and rows[0]["paper: parameters"] == 2_236_682


@pytest.mark.slow
def test_neuron_merging_runs(tiny, monkeypatch):
    monkeypatch.setattr(neuron_merging, "DIGITS", dict.fromkeys(neuron_merging.DIGITS, ONCE))
    monkeypatch.setattr(neuron_merging, "TABLE_1", {0.5: neuron_merging.TABLE_1[0.5]})
    monkeypatch.setattr(
        neuron_merging,
        "networks_of_table_3",
        lambda folder: [("vgg16", *neuron_merging.vgg16("cifar10", folder))],
    )
    lenet, vgg, wares = tiny(neuron_merging, "neuron-merging")
    assert [row["criterion"] for row in lenet + vgg + wares] == [*neuron_merging.CRITERIA] * 3
    assert all(row["WARE, prune"] > 0 and row["WARE, merge"] > 0 for row in wares)
    assert wares[0]["paper: WARE, merge"] == 1.465
    whole = count_parameters(LeNet(256, 2))
    assert all(row["parameters"] < 0.5 * whole for row in lenet)
    assert [row["removed"] for row in vgg] == pytest.approx([63.7] * 3, abs=0.5)


@pytest.mark.slow
def test_channel_similarity_runs(tiny, monkeypatch):
    for name in ("DIGITS_TRAINING", "DIGITS_RETRAINING"):
        monkeypatch.setattr(channel_similarity, name, ONCE)
    table = {"vgg16": channel_similarity.TABLE_1A["cifar10"]["vgg16"]}
    monkeypatch.setitem(channel_similarity.TABLE_1A, "cifar10", table)
    (rows,) = tiny(channel_similarity, "channel-similarity")
    assert [row["others"] for row in rows] == ["removed", "merged"]
    assert rows[0]["MFLOP, pruned"] < rows[0]["MFLOP"]
