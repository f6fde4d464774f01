"""The command: `python -m combred.pipeline stage=2 key=value`."""

import sys

import combred
from combred.names import PackageMissing, needing_train
from combred.processes.interrupts import stop_at_once


def run(arguments: list[str]) -> int:
    """Load the pipeline, and run it; returns the exit status."""
    if arguments == ["--version"]:
        print(combred.__version__)
        return 0
    from combred.pipeline.finished import finished, results  # numpy takes a moment

    if there := finished(arguments):
        folder, status = there
        print(f"{folder} is finished, and nothing has changed: only=report or run=NAME does more")
        print("\n".join(f"  {path}" for path in results(folder)))
        if status:
            print(f"rejected for flow codes: {folder / 'report.html'} tells why")
        return status
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
