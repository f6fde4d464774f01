"""The command line of a benchmark: words, and `--help`, which prints the script's docstring."""

import sys


def words(docstring: str) -> list[str]:
    """The words after the name of the script. With -h or --help among them, prints `docstring` and
    ends the program."""
    given = sys.argv[1:]
    if "-h" in given or "--help" in given:
        print(docstring.strip())
        sys.exit(0)
    return given
