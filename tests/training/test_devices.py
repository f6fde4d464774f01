"""Devices: the precision that is used."""

import torch

from combred.training.devices import resolve_precision


def test_a_requested_precision_is_used():
    for precision in ("float32", "bf16"):
        assert resolve_precision(precision, torch.device("cpu")) == (precision, "asked for")
    assert resolve_precision("auto", torch.device("cpu"))[0] in ("float32", "bf16")
