"""Pages of results: report.html of a run (`write_report`), check.html of a mechanism (`check`).

Last in the flow. Takes the files of numbers that others wrote; measures and computes nothing.
`verdict` heads the report; each section is one module, which takes the numbers and gives blocks;
`pages` lays them out. Nothing else in combred imports matplotlib.
"""

from pathlib import Path

from combred.chemistry.mechanism import Mechanism


def write_report(folder: Path, mechanism: Mechanism) -> None:
    """Write report.html and figures/ into a run folder that has been validated.

    Raises FileNotFoundError if validation.json is missing, ValueError if a file is damaged or
    belongs to another mechanism.
    """
    from combred.report.run import write_report  # reads HDF5, which a check does without

    write_report(folder, mechanism)
