"""Devices: the precision that is used, and one process without torchrun."""

import torch

from combred.training.devices import open_device, resolve_precision


def test_a_requested_precision_is_used():
    for precision in ("float32", "bf16"):
        assert resolve_precision(precision, torch.device("cpu")) == (precision, "asked for")
    assert resolve_precision("auto", torch.device("cpu"))[0] in ("float32", "bf16")


def test_without_torchrun_there_is_one_process(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    device = open_device()
    assert device.leads and device.world == 1
