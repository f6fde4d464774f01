"""The command `combred`: a solver checked and exported, models, and the pipeline.

    combred check gri30.yaml --fuel CH4:1
    combred check libsolver.so
    combred reduce gri30.yaml --fuel CH4:1
    combred export gri30.yaml folder
    combred export gri30.yaml case --openfoam
    combred openfoam
    combred models
    combred cache --clear
    combred run stage=2

`combred run` is `python -m combred.pipeline`.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import combred
from combred.processes.interrupts import stop_at_once


def main(arguments: list[str] | None = None) -> int:
    """Run a command, by default that of the command line; returns the exit status."""
    if arguments is None:
        arguments = sys.argv[1:]
        stop_at_once(arguments[:1] in (["run"], ["check"], ["reduce"]))
    if arguments[:1] == ["run"]:
        from combred.pipeline.__main__ import run

        return run(arguments[1:])
    given = parser().parse_args(arguments)
    if given.command is None:
        parser().print_help()
        return 2
    import cantera as ct

    from combred.pipeline.guard import guarded

    ct.suppress_thermo_warnings()
    work = WORK[given.command]
    return guarded(lambda: work(given), resumes=work in (check, reduce))


def parser() -> argparse.ArgumentParser:
    """The arguments of all commands."""
    command = argparse.ArgumentParser(
        prog="combred", description="Stiff chemistry for flow codes, from any mechanism."
    )
    command.add_argument("--version", action="version", version=combred.__version__)
    of = command.add_subparsers(dest="command", metavar="COMMAND")
    one = of.add_parser(
        "check", help="compare the solver of a mechanism with CVODE; say what a library is",
        description="Compare the solver of a mechanism with CVODE, and write a page. Of a library "
        "or a network: say what it is, and whether it is whole.",
    )  # fmt: skip
    one.add_argument("what", metavar="FILE", help="a mechanism (a file of Cantera's format, or the "
        "name of one that comes with Cantera), a library, a network or its name")  # fmt: skip
    mechanism_arguments(one, "of the page; by default check-MECHANISM")
    one.add_argument("--size", type=float, default=1.0, help="number of states and ignitions, over "
        "the usual one; flames and the reactor stay as they are")  # fmt: skip
    one = of.add_parser(
        "reduce", help="take species and reactions out of a mechanism, as an error allows",
        description="Take species and reactions out of a mechanism, as many as the limit of the "
        "errors allows, in ignitions, flames and stirred reactors; write the reduced mechanism and "
        "a page.",
    )  # fmt: skip
    one.add_argument("what", metavar="FILE", help="a mechanism")
    one.add_argument("--error", type=float, default=0.01, help="limit of every relative error: .01")
    one.add_argument("--species", type=int, default=0, help="how many may be left; by default as "
        "few as the limit allows")  # fmt: skip
    one.add_argument("--keep", default="", help="species that stay, and whose peaks in flames are "
        "judged, as NO,CO")  # fmt: skip
    one.add_argument("--refit", type=float, nargs="?", const=1.3, default=0.0, metavar="FACTOR",
        help="refit the rate constants within this factor, their uncertainty: 1.3")  # fmt: skip
    mechanism_arguments(one, "of the result; by default reduce-MECHANISM")
    flow_commands(of)
    one = of.add_parser("models", help="the networks that come with combred")
    one.add_argument("name", nargs="?", default="", help="of a network: print its card, in JSON")
    one = of.add_parser("cache", help="size of the cache of compiled code; --clear empties it")
    one.add_argument("--clear", action="store_true", help="remove what an hour did not use")
    of.add_parser("run", help="train, reduce and judge networks: key=value, as stage=2; --help")
    for name, one in of.choices.items():
        if name != "export":  # whose --version is that of OpenFOAM
            one.add_argument("--version", action="version", version=combred.__version__)
    return command


def mechanism_arguments(one: argparse.ArgumentParser, folder: str) -> None:
    """The arguments that name the gas of a mechanism, and what works where; folder: its help."""
    one.add_argument("--phase", default="", help="by default the first ideal gas that reacts")
    one.add_argument("--fuel", default="auto", help="in moles, as CH4:1; by default the one that "
        "the mechanism was plainly made for")  # fmt: skip
    one.add_argument("--oxidizer", default="auto", help="in moles, as O2:1,N2:3.76; by default air")
    one.add_argument("--folder", type=Path, help=folder)
    one.add_argument("--workers", type=int, default=0, help="processes; by default one a core")


def flow_commands(of: Any) -> None:
    """The arguments of `export` and `openfoam`."""
    one = of.add_parser(
        "export", help="write a library, its source and its header for a flow code",
        description="Write the library of a mechanism's solver, or of a model, for every CPU of "
        "this machine's kind, with source and header; of a model also surrogate.pt (TorchScript) "
        "and its card: combred export gri30.yaml folder",
    )  # fmt: skip
    one.add_argument("what", metavar="WHAT", help="a mechanism, the name of a model, "
        "stageN.safetensors, or the folder of a run")  # fmt: skip
    one.add_argument("folder", metavar="FOLDER", type=Path, help="where the files are written")
    one.add_argument("--phase", default="", help="by default the first ideal gas that reacts")
    one.add_argument("--openfoam", action="store_true", help="FOLDER is a case of OpenFOAM: write "
        "also thermo, reactions (yours become NAME.orig) and dictionaries")  # fmt: skip
    one.add_argument("--version", default="", help="of OpenFOAM, as v2312, 13, dev; by default the "
        "one that is sourced, else v1912")  # fmt: skip
    one = of.add_parser(
        "openfoam", help="compile combred's chemistry model for the OpenFOAM that is sourced",
        description="Compile combred's chemistry model for the OpenFOAM that is sourced in this "
        "shell, openfoam.com's from v1912 or the Foundation's from 7 on, into FOAM_USER_LIBBIN.",
    )  # fmt: skip
    one.add_argument("--install", action="store_true", help="install OpenFOAM v1912 of Debian 12 "
        "with it instead: as root, 260 MB")  # fmt: skip
    one.add_argument("folder", metavar="FOLDER", type=Path, nargs="?", help="of --install, which "
        "it implies: where sources and library go; by default openfoam")  # fmt: skip


def check(given: argparse.Namespace) -> int:
    """Check a mechanism and write the page; 1 where something exceeds its limit."""
    from rich.markup import escape

    from combred.check.description import describe

    properties = describe(given.what)
    if properties:
        usual = vars(parser().parse_args(["check", given.what]))
        refuse(given, [name for name, value in vars(given).items() if value != usual[name]])
        print("\n".join(f"{name:11} {value}" for name, value in properties.items()))
        return 0
    from combred.check.checking import check_mechanism, default_folder
    from combred.pipeline.console import console, marked, progress, show
    from combred.report.check import comparisons, sentence, write_check

    folder = given.folder or default_folder(given.what, given.phase)
    with console.heard(), progress("checking") as bar:
        record = check_mechanism(
            given.what, given.phase, given.fuel, given.oxidizer, folder, given.workers,
            given.size, bar,
        )  # fmt: skip
    show(comparisons(record))
    console.print(f"{marked(sentence(record))}\n  {escape(str(write_check(folder)))}")
    return 0 if all(row["right"] for row in record["verdict"]) else 1


def reduce(given: argparse.Namespace) -> int:
    """Reduce a mechanism and write the page."""
    from rich.markup import escape

    from combred.pipeline.console import console, marked, progress, show
    from combred.report.skeletal import errors_table, sentence, sizes, write_reduction
    from combred.skeletal.reducing import default_folder, reduce_mechanism

    folder = given.folder or default_folder(given.what, given.phase)
    keep = tuple(name.strip() for name in given.keep.split(",") if name.strip())
    with console.heard(), progress("reducing") as bar:
        record = reduce_mechanism(
            given.what, given.phase, given.fuel, given.oxidizer, given.error, given.species, keep,
            given.refit, folder, given.workers, bar,
        )  # fmt: skip
    show(errors_table(record))
    told = marked(f"{sentence(record)} {sizes(record)}")
    console.print(f"{told}\n  {escape(str(write_reduction(folder)))}")
    return 0


def refuse(given: argparse.Namespace, options: list[str]) -> None:
    """ValueError where options are given that mean something for a mechanism alone."""
    if options:
        told = ", ".join(f"--{name}" for name in options)
        raise ValueError(f"{given.what} is no mechanism: leave out {told}")


def export(given: argparse.Namespace) -> int:
    """Write a library of a mechanism or of a model."""
    from combred import native
    from combred.libraries import names_mechanism
    from combred.pipeline.console import console, progress

    what, entries = given.what, ""
    if given.version and not given.openfoam:
        raise ValueError("--version is that of OpenFOAM: add --openfoam, or leave it out")
    if names_mechanism(what):
        what = combred.load_mechanism(what, given.phase)
    else:
        from combred.surrogates.files.shipped import network_of

        refuse(given, ["phase"] * bool(given.phase))
        network_of(what)  # before it is said that something is compiled
    with console.heard(), progress(f"compiling for each kind of CPU: {given.what}"):
        if given.openfoam:
            written, entries = native.export_case(what, given.folder, given.version)
        else:
            if isinstance(what, str):  # a network
                written = combred.export_surrogate(what, given.folder)
            else:
                written = native.export(what, given.folder)
    for path in written:
        print(path)
    if entries:
        print(f"\nThe case needs these entries:\n\n{entries}", end="")
    return 0


def openfoam(given: argparse.Namespace) -> int:
    """Compile the chemistry model for the sourced OpenFOAM, or install Debian's with it."""
    from combred.coupling import FOLDER
    from combred.native.openfoam.model import compile_model, copy_sources
    from combred.pipeline.console import console, progress

    if given.install or given.folder:
        folder = given.folder or Path("openfoam")
        copy_sources(FOLDER, folder / "coupling")
        script = folder / "coupling/openfoam/install.sh"
        return subprocess.run(["bash", str(script), str(folder)]).returncode
    with console.heard(), progress("compiling with wmake"):
        path, version, _ = compile_model(FOLDER, os.environ)
    print(f"{path} is compiled for OpenFOAM {version.name}")
    print("next: combred export MECHANISM CASE --openfoam")
    return 0


def models(given: argparse.Namespace) -> int:
    """Print a table of the models that come with combred, or the card of one."""
    if given.name:
        if given.name not in combred.models():
            known = ", ".join(combred.models())
            raise ValueError(f"there is no model {given.name}: {known} come with combred")
        print(json.dumps(combred.models()[given.name], indent=2))
        return 0
    from combred.pipeline.console import show
    from combred.report.blocks import Table
    from combred.report.formats import atmospheres, percent, span

    heads = ["", "fuel", "mechanism", "species", "weights", "pressures [atm]", "time steps [s]",
             "worst delay", "us a state"]  # fmt: skip
    rows, machines = [], set()
    for name, card in combred.models().items():
        made, time = card["training"]["sampling"], card.get("time")
        machines |= {time["machine"]} if time else set()
        rows.append([
            name,
            made["fuel"].removesuffix(":1"),
            card["mechanism"],
            str(len(card["species"])),
            f"{card['network']['weights']:,}",
            " to ".join(map(atmospheres, card["range"]["p"])),
            span(made["dt"]),
            percent(card["accuracy"]["delay_error"]["worst"]),
            f"{1e6 * time['seconds']:.1f}" if time else "-",
        ])  # fmt: skip
    show(Table(heads, rows, "", left=3))
    print("\nworst delay: by the network alone, in the ignitions of its run; README.md has others,")
    print("with the solver behind it. us a state: of a flow, with the solver, on one core")
    print(f"({' and '.join(machines)}).")
    return 0


def cache(given: argparse.Namespace) -> int:
    """Tell the size of the cache, or clear it."""
    from combred.files.cache import clear, entries
    from combred.files.records import cache_folder

    folder, size = cache_folder(), sum(entries().values())
    removed = f", of them {clear() / 1e6:.0f} MB removed" if given.clear else ""
    print(f"{folder}: {size / 1e6:.0f} MB{removed}")
    return 0


WORK: dict[str, Callable[[argparse.Namespace], int]] = {
    "check": check, "reduce": reduce, "export": export, "openfoam": openfoam, "models": models,
    "cache": cache,
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(main())
