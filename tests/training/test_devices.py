"""Devices: the precision that is used."""

from combred.training.devices import fastest_precision, open_device


def test_the_precision_is_told_with_its_reason():
    precision, reason = fastest_precision(open_device())
    assert precision in ("float32", "bf16") and ("no" in reason) == (precision == "float32")
