"""The sections of a report of stage 0 alone."""

from run_folder import read_page


def test_stage_0_alone(single):
    text, page = (single / "report.html").read_text(), read_page(single)
    assert "Nothing was reduced" in text
    assert "paper's full network" not in text  # it has other variables
    for missing in ("sample.json", "surrogate.json", "stage0.jsonl"):
        assert f"{missing}" in text
    drawn = {path.stem for path in (single / "figures").glob("*.png")}
    assert drawn == {"delays", "temperatures", "species", "worst", "groups", "times"}
    assert "Y(CO)" not in text and page.row("widths")
