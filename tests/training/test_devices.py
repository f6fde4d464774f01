"""Devices: the precision that is used, and one process without torchrun."""

from combred.training.devices import fastest_precision, open_device


def test_without_torchrun_there_is_one_process(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    device = open_device()
    assert device.leads and device.world == 1
    precision, reason = fastest_precision(device.device)
    assert device.precision == precision and ("no" in reason) == (precision == "float32")
