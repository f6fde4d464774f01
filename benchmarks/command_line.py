"""The command line of a benchmark: words, or a file of states and models; `--help`, which prints
the script's docstring; and the models that most take where none is named."""

import argparse
import sys
from pathlib import Path

import combred


def general_models() -> list[str]:
    """The names of the shipped models that correct QSS steps, and so take any dt."""
    return [name for name, card in combred.models().items() if card["network"]["kinetics"]]


def words(docstring: str) -> list[str]:
    """The words after the name of the script. With -h or --help among them, prints `docstring` and
    ends the program."""
    given = sys.argv[1:]
    if "-h" in given or "--help" in given:
        print(docstring.strip())
        sys.exit(0)
    return given


def states_and_models(docstring: str | None) -> tuple[Path, list[str]]:
    """The file of --states, and the models that are named."""
    parser = argparse.ArgumentParser(
        description=docstring, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--states", type=Path, required=True, metavar="FILE", help="of benchmarks.flow_states"
    )
    parser.add_argument("models", nargs="*", metavar="MODEL")
    given = parser.parse_intermixed_args()
    return given.states, given.models
