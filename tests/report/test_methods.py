"""The comparison of reduction methods."""

import json
import shutil

from combred.report import blocks
from combred.report.writing import write_report


def method_row(method: str, ratio: float, error: float, not_ignited: int = 0) -> dict:
    judged = {
        "not_ignited": not_ignited,
        "cases": 12,
        "delay_median": 0.0123,
        "delay_worst": 0.0456,
    }
    return {
        **{"method": method, "compensation": "least_squares", "data": "states", "ratio": ratio},
        **{"error": error, "seconds": 0.5, "before": judged, "after": judged},
    }


def test_the_methods_that_were_compared_are_shown(whole, drm19, tmp_path, rendered):
    rendered.add("methods")
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    rows = [
        method_row("brain_surgeon", 0.6, 0.0451),
        method_row("folding", 0.6, 0.0683, not_ignited=5),
    ]
    measured_on = {"widths": [23, 40, 23], "retraining": {"steps": 1000}}
    (folder / "reduction.json").write_text(json.dumps({"measured_on": measured_on, "rows": rows}))
    write_report(folder, drm19)
    text = (folder / "report.md").read_text().replace(blocks.NBSP, " ")
    assert "| brain surgeon | least squares | states | 0.045 | 0.50 s |" in text
    assert "| brain surgeon | least squares | states | 1.23 % / 4.56 % |" in text
    assert "| folding | least squares | states | 5 of 12 not ignited |" in text
    assert "after retraining, median / worst (1,000 steps)" in text
    assert (folder / "figures" / "methods.png").exists()
    assert "## Methods" not in (whole / "report.md").read_text()
