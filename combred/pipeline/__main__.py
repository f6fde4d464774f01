"""The command: `python -m combred.pipeline stage=2 key=value`."""

import sys

from combred.names import PackageMissing, needing_train
from combred.processes.interrupts import stop_at_once


def run(arguments: list[str]) -> int:
    """Load the pipeline, and run it; returns the exit status."""
    try:
        with needing_train("the pipeline"):
            from combred.pipeline.command import main
    except PackageMissing as error:
        print(f"error: {error}")
        return 2
    return main(arguments)


if __name__ == "__main__":
    stop_at_once()
    sys.exit(run(sys.argv[1:]))
