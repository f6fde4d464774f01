"""The report of a run: report.html (a single file) and figures/.

Takes the files that the other steps wrote into a run folder; measures and computes nothing.
`verdict` heads the page; a section is one module, which takes the numbers and gives blocks.
"""

from pathlib import Path

from combred.chemistry.mechanism import Mechanism
from combred.report import verdict
from combred.report.blocks import Picture, Section
from combred.report.flows import flame_section, stirred_section
from combred.report.folder import Folder
from combred.report.ignitions import ignition_section
from combred.report.pages import write_page
from combred.report.provenance import made_section
from combred.report.reduction import reduction_section
from combred.report.style import style
from combred.report.usage import use_section


def write_report(folder: Path, mechanism: Mechanism) -> None:
    """Write report.html and figures/ into a run folder that has been validated.

    Raises FileNotFoundError if validation.json is missing, ValueError if a file is damaged or
    belongs to another mechanism.
    """
    run = Folder(folder, mechanism)
    with style():
        every = [
            ignition_section(run),
            flame_section(run),
            stirred_section(run),
            reduction_section(run),
            made_section(run),
            use_section(run),
        ]
        sections = [section for section in every if section is not None]
        content = {
            "title": verdict.title(run),
            "run": run.path.resolve().name,
            "what": f"Run {run.path.resolve().name}, reported",
            "sentence": verdict.sentence(run),
            "further": verdict.further(run),
            "alarms": verdict.alarms(run),
            "head": [first_picture(sections), verdict.comparison(run)],
            "sections": sections,
        }
        write_page(run.path / "report.html", content)


def first_picture(sections: list[Section]) -> Picture:
    """The picture of flames, or of delays where there are none, taken out of its section."""
    pictures = {b.name: (s, b) for s in sections for b in s.blocks if isinstance(b, Picture)}
    section, picture = pictures.get("flames", pictures["delays"])
    section.blocks.remove(picture)
    return picture
