"""The arguments of the command `combred`, by argparse."""

import argparse
from collections.abc import Callable
from pathlib import Path

import combred

PHASE = "by default the first ideal gas that reacts"
Argument = Callable[..., object]  # adds an argument to a command


def parser() -> argparse.ArgumentParser:
    """The arguments of all commands; `command` tells which one was given, None: none."""
    command = argparse.ArgumentParser(
        prog="combred", description="Stiff chemistry for flow codes, from any mechanism."
    )
    command.add_argument("--version", action="version", version=combred.__version__)
    of = command.add_subparsers(dest="command", metavar="COMMAND")
    _check(of.add_parser(
        "check", help="compare the solver of a mechanism with CVODE; say what a library is",
        description="Compare the solver of a mechanism with CVODE, and write a page. Of a library "
        "or a network: say what it is, and whether it is whole.",
    ).add_argument)  # fmt: skip
    _reduce(of.add_parser(
        "reduce", help="take species and reactions out of a mechanism, as an error allows",
        description="Take species and reactions out of a mechanism, as many as the limit of the "
        "errors allows, in ignitions, flames and stirred reactors; write the reduced mechanism and "
        "a page.",
    ).add_argument)  # fmt: skip
    _flames(of.add_parser(
        "flames", help="flame speeds over equivalence ratio, pressure and temperature",
        description="Solve freely propagating premixed flames of a mechanism over all combinations "
        "of equivalence ratio, pressure and unburnt temperature, and write a table and a page: "
        "combred flames gri30.yaml --fuel CH4:1 --phi 0.6:1.6:21 --p 1,5 --T0 300",
    ).add_argument)  # fmt: skip
    _export(of.add_parser(
        "export", help="write a library, its source and its header for a flow code",
        description="Write the library of a mechanism's solver, or of a model, for every CPU of "
        "this machine's kind, with source and header; of a model also surrogate.pt (TorchScript) "
        "and its card: combred export gri30.yaml folder",
    ).add_argument)  # fmt: skip
    _openfoam(of.add_parser(
        "openfoam", help="compile combred's chemistry model for the OpenFOAM that is sourced",
        description="Compile combred's chemistry model for the OpenFOAM that is sourced in this "
        "shell, openfoam.com's from v1912 or the Foundation's from 7 on, into FOAM_USER_LIBBIN.",
    ).add_argument)  # fmt: skip
    argument = of.add_parser("models", help="the networks that come with combred").add_argument
    argument("name", nargs="?", default="", help="of a network: print its card, in JSON")
    said = "size of the cache of compiled code; --clear empties it"
    argument = of.add_parser("cache", help=said).add_argument
    argument("--clear", action="store_true", help="remove what an hour did not use")
    of.add_parser("run", help="train, reduce and judge networks: key=value, as stage=2; --help")
    for name, one in of.choices.items():
        if name != "export":  # whose --version is that of OpenFOAM
            one.add_argument("--version", action="version", version=combred.__version__)
    return command


def _of_mechanism(argument: Argument, command: str) -> None:
    """The arguments of a command that works with a mechanism and its gas."""
    argument("--phase", default="", help=PHASE)
    argument("--fuel", default="auto", help="in moles, as CH4:1; by default the one that the "
             "mechanism was plainly made for")  # fmt: skip
    argument("--oxidizer", default="auto", help="in moles, as O2:1,N2:3.76; by default air")
    argument("--folder", type=Path, help=f"of the result; by default {command}-MECHANISM")
    argument("--workers", type=int, default=0, help="processes; by default one a core")


def _check(argument: Argument) -> None:
    argument("what", metavar="FILE", help="a mechanism (a file of Cantera's format, or the name of "
             "one that comes with Cantera), a library, a network or its name")  # fmt: skip
    _of_mechanism(argument, "check")
    argument("--size", type=float, default=1.0, help="number of states and ignitions, over the "
             "usual one; flames and the reactor stay as they are")  # fmt: skip


def _reduce(argument: Argument) -> None:
    argument("what", metavar="FILE", help="a mechanism")
    argument("--error", type=float, default=0.01, help="limit of every relative error: .01")
    argument("--species", type=int, default=0, help="how many may be left; by default as few as "
             "the limit allows")  # fmt: skip
    argument("--keep", default="", help="species that stay, and whose peaks in flames are judged, "
             "as NO,CO")  # fmt: skip
    cold = "the coldest that ignites and 2000"
    for name, unit, usual in (("T0", "K", cold), ("p", "atm", ".5,40"), ("phi", "1", ".5,1.5")):
        said = f"range of judged ignitions [{unit}]; by default {usual}"
        argument(f"--{name}", type=_pair, metavar="LOW,HIGH", help=said)
    said = "refit the rate constants within this factor, their uncertainty: 1.3"
    argument("--refit", type=float, nargs="?", const=1.3, default=0.0, metavar="FACTOR", help=said)
    _of_mechanism(argument, "reduce")


def _flames(argument: Argument) -> None:
    argument("what", metavar="FILE", help="a mechanism with transport data")
    for name, unit, usual in (("phi", "1", ".6:1.4:5"), ("p", "atm", "1"), ("T0", "K", "300")):
        said = f"values as .8,1, or an even range as .6:1.6:21 [{unit}]; by default {usual}"
        argument(f"--{name}", type=_values, default=_values(usual), metavar="VALUES", help=said)
    argument("--transport", default="mixture-averaged", help="or unity-Lewis-number")
    for name, change in (("slope", 0.06), ("curve", 0.12)):
        said = f"criterion of the grid: largest relative change between points; by default {change}"
        argument(f"--{name}", type=float, default=change, help=said)
    _of_mechanism(argument, "flames")


MOST_VALUES = 10_000


def _values(text: str) -> list[float]:
    """Values that are all above 0: ".8,1", or "first:last:count"."""
    try:
        ends = text.split(":")
        if len(ends) == 3 and 2 <= int(ends[2]) <= MOST_VALUES:
            low, high, steps = float(ends[0]), float(ends[1]), int(ends[2]) - 1
            values = [low + (high - low) * i / steps for i in range(steps + 1)]
        else:
            values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(0.0 < value < float("inf") for value in values):
        said = f"{text!r}: give values above 0 as in .8,1,1.2, or a range as in .6:1.6:21"
        raise argparse.ArgumentTypeError(said)
    return values


def _pair(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        said = f"{text!r} is no range: give its ends as in .5,40"
        raise argparse.ArgumentTypeError(said) from None
    return low, high


def _export(argument: Argument) -> None:
    argument("what", metavar="WHAT", help="a mechanism, the name of a model, stageN.safetensors, "
             "or the folder of a run")  # fmt: skip
    argument("folder", metavar="FOLDER", type=Path, help="where the files are written")
    argument("--phase", default="", help=PHASE)
    argument("--openfoam", action="store_true", help="FOLDER is a case of OpenFOAM: write also "
             "thermo, reactions (yours become NAME.orig) and dictionaries")  # fmt: skip
    argument("--accept", action="store_true", help="of a network: write it although its errors "
             "exceed the limits of its card, in files named rejected")  # fmt: skip
    argument("--version", default="", help="of OpenFOAM, as v2312, 13, dev; by default the one "
             "that is sourced, else v1912")  # fmt: skip


def _openfoam(argument: Argument) -> None:
    argument("--install", action="store_true", help="install OpenFOAM v1912 of Debian 12 with it "
             "instead: as root, 260 MB")  # fmt: skip
    argument("folder", metavar="FOLDER", type=Path, nargs="?", help="of --install, which it "
             "implies: where sources and library go; by default openfoam")  # fmt: skip
