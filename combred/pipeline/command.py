"""The command: `python -m combred.pipeline stage=2 key=value`.

Does the steps that are missing and reuses the files that are there: sample, train (stage 0),
reduce (stages 1 to N), validate, export, report (`combred.pipeline.steps`).
"""

import errno
import logging
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from combred import config
from combred.chemistry.fuel import spelled
from combred.chemistry.kinetics import Kinetics
from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.reactor import IntegrationError
from combred.config import Settings
from combred.config.fields import shown
from combred.pipeline.console import complain, console, print_help, print_resolved, say
from combred.pipeline.lock import locked
from combred.pipeline.run import Run
from combred.pipeline.steps import (
    export,
    networks,
    reduce,
    report,
    sample,
    train,
    validate,
)
from combred.records import read_record, write_record
from combred.training.devices import open_device


@dataclass(frozen=True)
class Step:
    """A step: its function, whose arguments are the run and the results that it `needs`, and the
    name of the result that it `gives`. `by_all`: all processes of torchrun take part in it; the
    others are done by the first process."""

    function: Callable[..., Any]
    needs: tuple[str, ...] = ()
    gives: str = ""
    by_all: bool = False


STEPS = {
    "sample": Step(sample.sample, (), "data"),
    "train": Step(train.train, ("data",), "first", by_all=True),
    "reduce": Step(reduce.reduce, ("data", "first"), "surrogates", by_all=True),
    "validate": Step(validate.validate, ("data", "surrogates"), "validation"),
    "export": Step(export.export, ("data", "surrogates", "validation")),
    "report": Step(report.report, ("surrogates",)),
}
# How a result is read from the run folder where no step of this command has made it. Each refuses
# files that were made with other settings.
LOADERS: dict[str, Callable[[Run], Any]] = {
    "data": sample.load_data,
    "first": networks.load_first,
    "surrogates": networks.load_surrogates,
    "validation": validate.load_validation,
}

STOPPED = "[yellow]stopped.[/] The same command goes on from here."


def main(arguments: list[str]) -> int:
    """Run the pipeline; returns the exit status. An error that a user can mend is one message."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    with _stopped_by_signals():
        try:
            return _main(arguments)
        except KeyboardInterrupt as stopped:  # also while an error is being printed
            console.print(STOPPED)
            return 128 + (stopped.args[0] if stopped.args else signal.SIGINT)


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Ctrl-C and SIGTERM raise KeyboardInterrupt; a second one ends the process at once."""
    numbers = signal.SIGINT, signal.SIGTERM

    def stop(number: int, _: object) -> None:
        for each in heard:
            signal.signal(each, lambda number, _: os._exit(128 + number))
        raise KeyboardInterrupt(number)

    def unraisable(failure: Any) -> None:
        # Python would print and forget an interrupt that falls into the destructor of an object.
        if isinstance(failure.exc_value, KeyboardInterrupt):
            console.print(STOPPED)
            os._exit(128 + (failure.exc_value.args or (signal.SIGINT,))[0])
        hook(failure)

    if threading.current_thread() is not threading.main_thread():
        yield  # signals are of the main thread
        return
    # What is ignored stays so: a shell starts what runs in its background deaf to Ctrl-C.
    heard = [each for each in numbers if signal.getsignal(each) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heard}
    hook, sys.unraisablehook = sys.unraisablehook, unraisable
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


def _main(arguments: list[str]) -> int:
    asks_help = {"-h", "--help", "help"} & set(arguments)
    try:
        if asks_help or not arguments:
            print_help(config.resolve([a for a in arguments if a not in asks_help]))
            return 0
        settings = config.resolve(arguments)
        console.begin("preparing")
        leads = os.environ.get("RANK", "0") == "0"  # of the processes of torchrun, one speaks
        with console.heard() if leads else nullcontext():
            execute(prepare(settings), settings.only)
        return 0
    except (ValueError, FileNotFoundError, FloatingPointError, IntegrationError) as error:
        complain(str(error))
    except BrokenProcessPool:
        complain(
            "a process that runs CVODE was killed, perhaps for lack of memory. Finished work is "
            "kept: run the same command again, with fewer workers=N if it happens again."
        )
    except OSError as error:
        complain(
            f"a file could not be written or read: {error}. {_remedy(error)} Finished work is "
            "kept: run the same command again once the cause is mended."
        )
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "allocate memory" not in str(error):
            raise
        complain(
            "the memory of this machine is too small for these settings. Give a smaller "
            "network.hidden, training.batch_final or retraining.batch, or fewer workers=N. "
            "Finished work is kept."
        )
    return 2


def _remedy(error: OSError) -> str:
    """What mends an error of the file system, in a sentence."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        free = shutil.disk_usage("/").free / 1e9
        with suppress(OSError):
            free = shutil.disk_usage(Path.cwd()).free / 1e9
        return f"The disk has {free:.1f} GB free: make room."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "You may not write there: change the permissions, or work in another folder."
    if error.errno in (errno.EISDIR, errno.ENOTDIR):
        return "A folder stands where a file belongs, or a file where a folder: move it away."
    return "The operating system refused it."


def prepare(settings: Settings) -> Run:
    """Resolve the settings that depend on mechanism and machine, and open the run folder."""
    mechanism = load_mechanism(settings.mechanism)
    fuel, oxidizer = _mixture(settings, mechanism)
    sampling = replace(settings.sampling, fuel=fuel, oxidizer=oxidizer)
    settings = replace(settings, sampling=sampling)
    run = Run(settings, mechanism, Path("runs") / settings.run_name, open_device())
    if settings.network.kinetics:
        Kinetics(mechanism)  # refuses unknown kinds of rates, before anything is sampled
    if run.device.leads:
        run.folder.mkdir(parents=True, exist_ok=True)
        print_resolved(run)
    return run


def _mixture(settings: Settings, mechanism: Mechanism) -> tuple[str, str]:
    """Fuel and oxidizer with the names of the mechanism. Raises ValueError where they cannot be
    mixed, or where the fuel is not plain, with the settings' names."""
    fuel, oxidizer = settings.sampling.fuel, settings.sampling.oxidizer
    try:
        fuel, oxidizer = mechanism.resolve_fuel(fuel), spelled(mechanism, oxidizer)
        mechanism.mixture(fuel, oxidizer, 1.0)
    except ValueError as error:
        named = f"sampling.fuel={shown(fuel)}, sampling.oxidizer={shown(oxidizer)}"
        raise ValueError(f"{named}: {error}") from error
    return fuel, oxidizer


def execute(run: Run, only: str = "") -> None:
    """All steps up to the stage asked for, or just `only`; prints the time of each."""
    with locked(run.folder) if run.device.leads else nullcontext():
        _execute(run, only)


def _execute(run: Run, only: str) -> None:
    results: dict[str, Any] = {}
    started = time.monotonic()
    if run.device.leads:
        networks.require_same_settings(run)
        write_record(run.path("settings.json"), asdict(run.settings))
    run.barrier()
    for name, step in STEPS.items():
        if only not in ("", name):
            continue
        begun = time.monotonic()
        console.begin(name)
        if step.by_all or run.device.leads:
            for need in step.needs:
                if need not in results:
                    results[need] = LOADERS[need](run)
            result = step.function(run, *(results[need] for need in step.needs))
            if step.gives:
                results[step.gives] = result
        run.barrier()
        say(run, f"  [dim]{name}: {time.monotonic() - begun:.1f} s[/]")
    if only in ("", "export") and not read_record(run.path("export.json"))["all_ignite"]:
        say(run, "  [bold yellow]with the exported network some cases do not ignite[/]")
    say(run, f"[bold]done[/] in {time.monotonic() - started:.0f} s")
    for name in ("surrogate.pt", "surrogate.cpp", "libsurrogate.so", "report.html"):
        if run.path(name).exists():
            say(run, f"  {run.path(name)}")
