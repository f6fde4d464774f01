"""The command: `python -m combred.pipeline stage=2 key=value`.

Does the steps that are missing and reuses the files that are there: sample, train (stage 0),
reduce (stages 1 to N), validate, export, report (`combred.pipeline.assembly`).
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.markup import escape

from combred.chemistry.mechanism import load_mechanism
from combred.config.command import resolve
from combred.config.settings import Settings
from combred.experiments.accuracy import BEHIND, NAMES
from combred.files.records import read_record, write_record
from combred.pipeline import assembly
from combred.pipeline.console import console
from combred.pipeline.finished import finish
from combred.pipeline.finished import results as results_of
from combred.pipeline.guard import guarded
from combred.pipeline.resolved import of_settings, resolved
from combred.pipeline.run import Run
from combred.pipeline.steps import validate
from combred.pipeline.tables import print_help, print_resolved
from combred.processes.lock import locked
from combred.surrogates.model.rate_numbers import readable


@dataclass(frozen=True)
class Step:
    """A step: its function, whose arguments are the run and the results that it `needs`; the name
    of the result that it `gives`; how this is read where no step of this command has made it."""

    function: Callable[..., Any]
    needs: tuple[str, ...] = ()
    gives: str = ""
    read: Callable[[Run], Any] | None = None


STEPS = {
    "sample": Step(assembly.sample, (), "data", assembly.load_data),
    "train": Step(assembly.train, ("data",), "first", assembly.load_first),
    "reduce": Step(assembly.reduce, ("data", "first"), "surrogates", assembly.load_surrogates),
    "validate": Step(
        validate.validate, ("data", "surrogates"), "validation", validate.load_validation
    ),
    "export": Step(assembly.export, ("data", "surrogates", "validation")),
    "report": Step(assembly.report, ("surrogates",)),
}


def main(arguments: list[str]) -> int:
    """Run the pipeline; returns the exit status. An error that a user can mend is one message."""
    return guarded(lambda: _main(arguments))


def _main(arguments: list[str]) -> int:
    asks_help = {"-h", "--help", "help"} & set(arguments)
    if asks_help or not arguments:
        print_help(resolve([a for a in arguments if a not in asks_help]))
        return 0
    settings = resolve(arguments)
    console.begin("preparing")
    with console.heard():
        run = prepare(settings)
        with console.logged(run.path("run.log"), arguments):
            status = execute(run)
        if not settings.only:
            finish(run.folder, settings, status)
        return status


def prepare(settings: Settings) -> Run:
    """Resolve the settings that depend on mechanism and machine, and open the run folder."""
    with of_settings("mechanism"):
        mechanism = load_mechanism(settings.mechanism)
    settings = resolved(settings, mechanism)
    run = Run(settings, mechanism, Path("runs") / settings.run_name)
    if settings.network.kinetics:
        with of_settings("network.kinetics=true"):
            readable(mechanism)  # refuses unknown kinds of rates, before anything is sampled
    assembly.require_cases(run)
    run.folder.mkdir(parents=True, exist_ok=True)
    print_resolved(settings, mechanism, run.folder, run.workers)
    return run


def execute(run: Run) -> int:
    """All steps up to the stage asked for, or just `only`; prints the time of each. Returns the
    exit status: 1 where the network is rejected."""
    results: dict[str, Any] = {}
    readers = {step.gives: step.read for step in STEPS.values() if step.read}
    started, only = time.monotonic(), run.settings.only
    with locked(run.folder):
        assembly.require_same_settings(run)
        write_record(run.path("settings.json"), asdict(run.settings))
        for name, step in STEPS.items():
            if only not in ("", name):
                continue
            begun = time.monotonic()
            console.begin(name)
            for need in step.needs:
                if need not in results:
                    results[need] = readers[need](run)
            result = step.function(run, *(results[need] for need in step.needs))
            if step.gives:
                results[step.gives] = result
            console.print(f"  [dim]{name}: {time.monotonic() - begun:.1f} s[/]")
        exported = read_record(run.path("export.json")) if only in ("", "export") else {}
        if not exported.get("all_ignite", True):
            console.print(f"  [bold yellow]{NAMES[BEHIND]}: some cases do not ignite[/]")
        console.print(f"[bold]done[/] in {time.monotonic() - started:.0f} s")
        for path in results_of(run.folder):
            console.print(f"  {path}")
    if rejected := exported.get("rejected"):
        console.print(
            f"[bold red]rejected for flow codes, {NAMES[BEHIND]}: {escape(rejected)}[/]. Train "
            "longer or reduce less, or raise the limit, as export.accept=ignition:50%"
        )
        return 1
    return 0
