"""The command line of a benchmark: words, `--help`, which prints the script's docstring, and the
models that most take where none is named."""

import sys

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
