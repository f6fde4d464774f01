"""The sections of a report."""

import json
import shutil

from run_folder import read_page

from combred.report.folder import read_folder
from combred.report.writing import write_report


def test_stage_0_alone(single):
    text, page = (single / "report.html").read_text(), read_page(single)
    assert "Nothing was reduced" in text
    assert "paper's full network" not in text  # it has other variables
    for missing in ("sample.json", "surrogate.json", "stage0.jsonl"):
        assert f"{missing}" in text
    drawn = {path.stem for path in (single / "figures").glob("*.png")}
    assert drawn == {"delays", "temperatures", "species", "worst", "groups", "times"}
    assert "Y(CO)" not in text and page.row("widths")


def test_times_of_networks_alone_in_runs_of_before_are_left_out(single, h2o2):
    folder = read_folder(single, h2o2)
    shown = list(folder.times)
    times = folder.validation["timing"]["times"]
    times["stage 0, network alone"] = times["stage 0"]
    assert list(folder.times) == shown and "stage 0" in shown


def test_a_missing_similarity_is_told_of_reductions_of_one_layer_alone(
    whole, drm19, tmp_path, rendered
):
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    (folder / "stage0.safetensors").unlink()
    (folder / "stage1.safetensors").unlink()
    told = "The similarity of the reduced layers is not shown"
    write_report(folder, drm19)
    assert told in (folder / "report.html").read_text()
    record = json.loads((folder / "reduce.json").read_text())
    for stage in record["stages"]:
        del stage["layer"], stage["threshold"]
        stage |= {"method": "brain_surgeon", "parameters": 0.1}
    (folder / "reduce.json").write_text(json.dumps(record))
    write_report(folder, drm19)
    assert told not in (folder / "report.html").read_text()
