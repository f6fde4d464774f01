"""The command `combred flames`: a table of speeds, its files and its page."""

import csv
import json

import h5py
import numpy as np
import pytest

from combred.command import main
from combred.files.records import read_record
from combred.flames import speeds
from combred.flames.problems import FlameError
from combred.options import parser

WORDS = "flames", "h2o2.yaml", "--fuel", "H2:1", "--slope", ".2", "--curve", ".4", "--workers", "1"


def run(*words: str) -> int:
    return main([*WORDS, *words])


def test_it_writes_a_table_and_a_page(tmp_path, h2o2):
    folder = tmp_path / "speeds"
    assert run("--phi", ".8:1.2:3", "--p", "1,2", "--folder", str(folder)) == 0
    names = {path.name for path in folder.iterdir()}
    assert names == {"flames.json", "flames.html", "speeds.csv", "speeds.h5", "figures"}
    record = read_record(folder / "flames.json")
    assert [row["phi"] for row in record["flames"]] == pytest.approx([0.8, 1.0, 1.2] * 2)
    assert record["sha256"] == h2o2.sha256 and not record["failures"]
    rows = list(csv.reader((folder / "speeds.csv").open()))
    assert rows[0] == ["T0 [K]", "p [Pa]", "phi [1]", "speed [m/s]"]
    values = np.array(rows[1:], float)[:, 3]
    with h5py.File(folder / "speeds.h5") as file:
        assert np.array_equal(file["speed"], values) and file["speed"].attrs["units"] == "m/s"
    assert (values > 1.0).all() and (values < 3.0).all()
    page = (folder / "flames.html").read_text()
    assert "6 of 6 flames are steady" in page and "data:image/png" in page


def test_a_flame_that_is_not_found_is_told_in_page_and_status(tmp_path, monkeypatch):
    def fails(gas, *_):
        raise FlameError("the grid is <b>")

    monkeypatch.setattr(speeds, "free_flame", fails)
    assert run("--phi", "1", "--folder", str(tmp_path)) == 1
    page = (tmp_path / "flames.html").read_text()
    assert "0 of 1 flames are steady" in page and "the grid is &lt;b&gt;" in page
    record = json.loads((tmp_path / "flames.json").read_text())
    assert record["flames"][0]["speed"] is None and "T = 300 K" in record["failures"]["0"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--phi", "1:2"), "give values above 0"),
        (("--phi", "0,1"), "give values above 0"),
        (("--p", "high"), "give values above 0"),
        (("--T0", "300:400:1"), "give values above 0"),
    ],
)
def test_values_that_are_none_are_refused(words, message, capsys):
    with pytest.raises(SystemExit):
        parser().parse_args([*WORDS, *words])
    assert message in capsys.readouterr().err


def test_values_are_numbers_or_an_even_range():
    arguments = parser().parse_args([*WORDS, "--phi", ".6:1.6:21", "--p", "1,5"])
    np.testing.assert_allclose(arguments.phi, np.linspace(0.6, 1.6, 21), rtol=1e-14)
    assert arguments.p == [1.0, 5.0] and arguments.T0 == [300.0]


def test_a_mechanism_without_flames_is_one_sentence(tmp_path, capsys):
    assert main(["flames", "nDodecane_Reitz.yaml", "--folder", str(tmp_path)]) == 2
    assert not list(tmp_path.iterdir())
