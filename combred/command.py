"""The command `combred`: a solver checked and exported, models, and the pipeline.

    combred check gri30.yaml --fuel CH4:1
    combred check libsolver.so
    combred reduce gri30.yaml --fuel CH4:1
    combred flames gri30.yaml --fuel CH4:1 --phi 0.6:1.6:21
    combred export gri30.yaml folder
    combred export gri30.yaml case --openfoam
    combred openfoam
    combred models
    combred cache --clear
    combred run stage=2

`combred run` is `python -m combred.pipeline`.
"""

import json
import os
import shlex
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import combred
from combred.options import parser
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
    work = {"check": check, "reduce": reduce, "flames": flames, "export": export,
            "openfoam": openfoam, "models": models, "cache": cache}[given.command]  # fmt: skip
    import cantera as ct

    from combred.pipeline.guard import guarded

    ct.suppress_thermo_warnings()
    return guarded(lambda: work(given), resumes=work in (check, reduce))


def check(given: Namespace) -> int:
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


def reduce(given: Namespace) -> int:
    """Reduce a mechanism and write the page."""
    from rich.markup import escape

    from combred.pipeline.console import console, marked, progress, show
    from combred.report.skeletal import errors_table, sentence, sizes, write_reduction
    from combred.skeletal.cases import ATM
    from combred.skeletal.reducing import default_folder, reduce_mechanism

    folder = given.folder or default_folder(given.what, given.phase)
    p = given.p and tuple(ATM * end for end in given.p)
    keep = tuple(name.strip() for name in given.keep.split(",") if name.strip())
    with console.heard(), progress("reducing") as bar:
        record = reduce_mechanism(
            given.what, given.phase, given.fuel, given.oxidizer, given.error, given.species,
            keep, given.refit, folder, given.workers, bar, given.T0, p, given.phi,
        )  # fmt: skip
    show(errors_table(record))
    told = marked(f"{sentence(record)} {sizes(record)}")
    console.print(f"{told}\n  {escape(str(write_reduction(folder)))}")
    written = shlex.quote(str(folder / record["file"]))
    console.print(f"next: combred export {escape(written)} CASE --openfoam", soft_wrap=True)
    return 0


def flames(given: Namespace) -> int:
    """Solve flames and write their table and page; 1 where one was not found."""
    from rich.markup import escape

    from combred.flames.grid import Criteria
    from combred.flames.speeds import PRUNE
    from combred.flames.survey import Ranges, Request, default_folder, survey
    from combred.pipeline.console import console, marked, show
    from combred.report.flames import sentence, speeds_table, write_survey

    folder = given.folder or default_folder(given.what, given.phase)
    criteria = Criteria(slope=given.slope, curve=given.curve, prune=PRUNE)
    request = Request(
        given.what, given.phase, given.fuel, given.oxidizer, given.transport, criteria
    )
    ranges = Ranges(given.T0, given.p, given.phi)
    with console.heard():
        record = survey(request, ranges, folder, given.workers or os.cpu_count() or 1)
    show(speeds_table(record))
    console.print(f"{marked(sentence(record))}\n  {escape(str(write_survey(folder)))}")
    return 1 if record["failures"] else 0


def refuse(given: Namespace, options: list[str]) -> None:
    """ValueError where options are given that mean something for a mechanism alone."""
    if options:
        told = ", ".join(f"--{name}" for name in options)
        raise ValueError(f"{given.what} is no mechanism: leave out {told}")


def export(given: Namespace) -> int:
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
            written, entries = native.export_case(what, given.folder, given.version, given.accept)
        else:
            if isinstance(what, str):  # a network
                written = combred.export_surrogate(what, given.folder, accept=given.accept)
            else:
                written = native.export(what, given.folder)
    for path in written:
        print(path)
    if entries:
        print(f"\nThe case needs these entries:\n\n{entries}", end="")
    return 0


def openfoam(given: Namespace) -> int:
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


def models(given: Namespace) -> int:
    """Print a table of the models that come with combred, or the card of one."""
    if given.name:
        if given.name not in combred.models():
            known = ", ".join(combred.models())
            raise ValueError(f"there is no model {given.name}: {known} come with combred")
        print(json.dumps(combred.models()[given.name], indent=2))
        return 0
    from combred.experiments.accuracy import ALONE, LEFT, NAMES, accuracy_of
    from combred.pipeline.console import show
    from combred.report.blocks import Table
    from combred.report.formats import atmospheres, percent, span, worst_delay

    heads = ["", "fuel", "mechanism", "species", "weights", "p [atm]", "dt [s]",
             NAMES[ALONE], "with the solver", LEFT, "us a state"]  # fmt: skip
    rows, machines = [], set()
    for name, card in combred.models().items():
        made, time = card["training"]["sampling"], card.get("time")
        accuracy = accuracy_of(card)
        machines |= {time["machine"]} if time else set()
        rows.append([
            name,
            made["fuel"].removesuffix(":1"),
            card["mechanism"],
            str(len(card["species"])),
            f"{card['network']['weights']:,}",
            " to ".join(map(atmospheres, card["range"]["p"])),
            span(made["dt"]),
            *(worst_delay(accuracy[key]) for key in NAMES),
            percent(accuracy.get("left_to_solver")),
            f"{1e6 * time['seconds']:.1f}" if time else "-",
        ])  # fmt: skip
    show(Table(heads, rows, "", left=3))
    print(f"\n{NAMES[ALONE]}, with the solver (behind it): worst error of the ignition delay, in")
    print(f"the ignitions of the card; of their states, the share that is {LEFT}. us a")
    print(f"state: of a flow, with the solver, on one core ({' and '.join(machines)}).")
    return 0


def cache(given: Namespace) -> int:
    """Tell the size of the cache, or clear it."""
    from combred.files.cache import clear, entries
    from combred.files.records import cache_folder

    folder, size = cache_folder(), sum(entries().values())
    removed = f", of them {clear() / 1e6:.0f} MB removed" if given.clear else ""
    print(f"{folder}: {size / 1e6:.0f} MB{removed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
