"""The main way: `python -m combred.pipeline stage=2 key=value`.

Does what is missing and reuses what is there: sample, train (stage 0), reduce 1 to N, validate,
export, report (`combred.steps`).
"""

import logging
import shutil
import time
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

from combred import config
from combred.chemistry.kinetics import Kinetics
from combred.chemistry.mechanism import load_mechanism
from combred.chemistry.reactor import IntegrationError
from combred.config import Settings
from combred.pipeline.console import complain, console, print_help, print_resolved, say
from combred.pipeline.run import Run
from combred.pipeline.steps.export import export, report
from combred.pipeline.steps.reduce import reduce_stages
from combred.pipeline.steps.sample import sample_states
from combred.pipeline.steps.train import train_first
from combred.pipeline.steps.validate import validate
from combred.records import read_json
from combred.training.devices import open_device

ALL_PROCESSES = ("train", "reduce")  # of torchrun have a part in these; the rest is the first's


def main(arguments: list[str]) -> int:
    """Run the pipeline; returns the exit status. What a user can mend prints one error."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print_help()
        return 0
    try:
        settings = config.resolve(arguments)
        execute(prepare(settings), settings.only)
        return 0
    except KeyboardInterrupt:
        console.print("[yellow]stopped.[/] The same command goes on from here.")
        return 130
    except (ValueError, FileNotFoundError, FloatingPointError, IntegrationError) as error:
        complain(str(error))
    except BrokenProcessPool:
        complain(
            "a process that runs CVODE was killed, for want of memory perhaps. What was finished "
            "is kept: run the same command again, with fewer workers=N if it happens again."
        )
    except OSError as error:
        free = shutil.disk_usage(Path.cwd()).free / 1e9
        complain(
            f"a file could not be written or read: {error}. The disk has {free:.1f} GB free. What "
            "was finished is kept: make room, then run the same command again."
        )
    return 2


def prepare(settings: Settings) -> Run:
    """Resolve what depends on mechanism and machine, and open the run folder."""
    mechanism = load_mechanism(settings.mechanism)
    fuel = mechanism.resolve_fuel(settings.sampling.fuel)
    settings = replace(settings, sampling=replace(settings.sampling, fuel=fuel))
    run = Run(settings, mechanism, Path("runs") / settings.run_name, open_device())
    mechanism.mixture(fuel, settings.sampling.oxidizer, 1.0)  # refuses what is no mixture
    if settings.network.kinetics:
        Kinetics(mechanism)  # refuses rates that it does not know, before anything is sampled
    if run.device.leads:
        run.folder.mkdir(parents=True, exist_ok=True)
        print_resolved(run)
    return run


def execute(run: Run, only: str = "") -> None:
    """All steps up to the stage asked for, or just `only`; prints the time of each."""
    steps: dict[str, Callable[[Run], None]] = {
        "sample": sample_states,
        "train": train_first,
        "reduce": reduce_stages,
        "validate": validate,
        "export": export,
        "report": report,
    }
    started = time.monotonic()
    for name, step in steps.items():
        if only in ("", name):
            begun = time.monotonic()
            if name in ALL_PROCESSES or run.device.leads:
                step(run)
            run.barrier()
            say(run, f"  [dim]{name}: {time.monotonic() - begun:.1f} s[/]")
    not_ignited = not read_json(run.path("export.json")).get("all_ignite", True)
    if not_ignited and only in ("", "export"):
        say(run, "  [bold yellow]with the exported network some cases do not ignite[/]")
    say(run, f"[bold]done[/] in {time.monotonic() - started:.0f} s")
    for name in ("surrogate.pt", "report.html"):
        if run.path(name).exists():
            say(run, f"  {run.path(name)}")
