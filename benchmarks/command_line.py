"""The command line of a benchmark: words, or a file of states and models; `--help`, which prints
the script's docstring; the gas; and the models that most take where none is named."""

import argparse
import sys
from pathlib import Path

import combred
from combred.chemistry.fuel import Mixture, name_mixture
from combred.chemistry.mechanism import Mechanism, load_mechanism

MECHANISM = "drm19.yaml"  # of the shipped models


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


def add_gas(parser: argparse.ArgumentParser) -> None:
    """--mechanism, --fuel, --oxidizer and the models, for `gas_of`."""
    parser.add_argument("--mechanism", default=MECHANISM, metavar="FILE[:PHASE]")
    parser.add_argument("--fuel", default="auto", help="in moles, as CH4:1")
    parser.add_argument("--oxidizer", default="auto", help="in moles; by default air")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="default: the shipped models")


def is_usual(given: argparse.Namespace) -> bool:
    """Whether no gas is named: it is that of the shipped models."""
    return (given.mechanism, given.fuel, given.oxidizer) == (MECHANISM, "auto", "auto")


def gas_of(given: argparse.Namespace) -> tuple[Mechanism, Mixture]:
    """The mechanism, the fuel and the oxidizer that are named. Ends the program where a model is of
    another mechanism."""
    mechanism = load_mechanism(*given.mechanism.split(":"))
    for model in given.models:
        other = combred.load(model).mechanism
        if (other.sha256, other.phase) != (mechanism.sha256, mechanism.phase):
            sys.exit(f"{model} is of {other.name}, not of {mechanism.name}: give --mechanism")
    return mechanism, name_mixture(mechanism, given.fuel, given.oxidizer)
