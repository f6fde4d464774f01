"""The step `report`. Takes the files of the run folder; writes report.html, report.md, figures/ and
condensation.json."""

from combred.pipeline.run import Run
from combred.surrogate.surrogate import Surrogate


def report(run: Run, surrogates: list[Surrogate]) -> None:
    """Draw the report. The surrogates are an input so that networks of other settings are refused
    before anything is drawn of them."""
    from combred.report.writing import write_report  # matplotlib is slow to import

    write_report(run.folder, run.mechanism)
