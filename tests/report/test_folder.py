"""Files of a run folder that do not belong together."""

from run_folder import CASES, THREE, make_run, parent

from combred.files.records import write_json
from combred.report.writing import write_report
from combred.surrogate.storage import save_surrogate


def test_files_that_do_not_belong_together_are_named(tmp_path, h2o2, rendered):
    """Weights changed since they were validated; settings and records lost."""
    folder = make_run(tmp_path / "run", h2o2, [row[:1] for row in THREE[:2]], CASES[:1])
    for name in ("reduce.json", "settings.json", "train.json"):
        (folder / name).unlink()
    other = parent(h2o2, [24, 12])
    save_surrogate(folder / "stage1.safetensors", other, h2o2)
    write_json(folder / "export.json", {"stage": 0})
    write_report(folder, h2o2)
    text = (folder / "report.html").read_text()
    assert "weights of stage 1 in this folder are not those" in text
    assert "exported file holds stage 0; this report is about stage 1" in text
    assert "no reduce.json" in text
