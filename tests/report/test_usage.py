"""How the network is used: its lines of code run, and its error estimate is explained."""

import torch
from run_folder import AIR, DT, read_page, text_of

from combred.report import blocks
from combred.report.usage import PYTHON, error_estimate


def test_the_error_estimate_is_explained_for_each_kind_of_network(whole):
    shown = text_of(whole)
    assert "It takes dt = 1e-06 s alone." in shown and "infinite outside the training" in shown
    assert "a program that calls surrogate.pt" in shown and read_page(whole).row("dt [s]")
    card = {"dt": [1e-8, 1e-5], "network": {"kinetics": True}, "tolerance": 0.03}
    told = error_estimate(card).replace(blocks.NBSP, " ")
    assert "any dt from 1e-08 to 1e-05 s, the range of the training" in told
    assert "divided by the tolerance, 3.00 % of the change" in told


def test_python_lines_of_the_report_run(whole, drm19, monkeypatch):
    monkeypatch.chdir(whole)
    names = {"T": 1600.0, "p": 101325.0, "Y": drm19.mixture("CH4:1", AIR, 1.0)}
    exec(PYTHON, names)
    assert names["later"].shape == (1, 23) and names["rate"].shape == (1, 21)
    assert names["trusted"].dtype == torch.bool and names["card"]["dt"] == [DT, DT]
