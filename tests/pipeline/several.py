"""Several commands of the pipeline in one process, which takes seconds to start:

    python several.py DATA FOLDER "ARGUMENTS" [FOLDER "ARGUMENTS" ...]

DATA is in place of the folder of `combred.data`. The output of each command goes to FOLDER,
output0, or output1 of the second process of torchrun. Ends at the first command that fails.
"""

import os
import sys
from contextlib import redirect_stdout
from pathlib import Path


def main() -> int:
    """Run the commands; returns the exit status of the last one."""
    from combred import data

    data.FOLDER = Path(sys.argv[1])
    from combred.pipeline.command import main as command
    from combred.pipeline.steps import sample

    sample.HELD_OUT = 0.25  # as in tiny.py

    status = 0
    for folder, arguments in zip(sys.argv[2::2], sys.argv[3::2], strict=True):
        os.chdir(folder)
        with open(f"output{os.environ.get('RANK', 0)}", "w") as file, redirect_stdout(file):
            status = status or command(arguments.split())
    return status


if __name__ == "__main__":
    sys.exit(main())
