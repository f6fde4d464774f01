"""Runs that are killed at random moments, and several processes in one folder.

A run is a copy of this process, which has loaded torch and Cantera, and which goes on with the
command. It gets SIGKILL, SIGTERM, Ctrl-C or Ctrl-C twice after a random time, again and again. Then
the command has to end well, with the results of a run that nobody disturbed.
"""

import contextlib
import multiprocessing.util
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

from benchmarks.hostile.files import NAME, SMALL, differing, results
from benchmarks.hostile.interruptions import STOPS, without
from benchmarks.hostile.outcome import Counts
from combred.pipeline.command import main
from combred.processes.interrupts import stop_at_once

SIGNALS = {
    "SIGKILL": (signal.SIGKILL,),
    "SIGTERM": (signal.SIGTERM,),
    "Ctrl-C": (signal.SIGINT,),
    "Ctrl-C twice": (signal.SIGINT, signal.SIGINT),
}
PATIENCE = 10.0  # s, in which a process and its workers have to end after a signal
LIMIT = 300.0  # s, for a whole run


def begin(folder: Path, output: Path, words: tuple[str, ...] = ()) -> int:
    """The process id of a run in `folder`, begun as a copy of this process; words: further
    arguments of the command."""
    child = os.fork()
    if child:
        return child
    stop_at_once()  # as the command does first
    status = 1
    try:
        os.setsid()  # its worker processes are of its session
        # Workers load the module __main__, which is this benchmark, with all that it imports.
        sys.modules["__main__"] = types.ModuleType("__main__")
        os.chdir(folder)
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        status = main([*SMALL, *words])
        sys.stdout.flush()
        threading._shutdown()  # what Python does at its end: threads and processes are waited for
        multiprocessing.util._exit_function()
    finally:
        os._exit(status)


def begin_anew(folder: Path, output: Path) -> int:
    """The same in a new process of Python, which loads torch and Cantera first."""
    with output.open("w") as file:
        words = [sys.executable, "-m", "combred.pipeline", *SMALL]
        started = subprocess.Popen(
            words, cwd=folder, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
    return started.pid


def ended(child: int, seconds: float) -> int | None:
    """The exit status of a process, or minus its signal; None if it has not ended after a time."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    return None


def members(session: int) -> dict[int, str]:
    """The processes of a session that have not ended: numbers and commands. One that has ended, and
    whose parent has not asked for its status yet, is none of them."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, _, _, its_session = (folder / "stat").read_text().rsplit(")", 1)[1].split()[:4]
            if int(its_session) == session and state not in "ZX":
                words = (folder / "cmdline").read_text().split("\0")
                found[int(folder.name)] = " ".join(words)[-120:]
    return found


def left(session: int, seconds: float) -> dict[int, str]:
    """The processes of a session that do not end by themselves within a time; they are killed."""
    limit = time.monotonic() + seconds
    while members(session) and time.monotonic() < limit:
        time.sleep(0.02)
    stay = members(session)
    for number in stay:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    return stay


def attack_kills(folder: Path, whole: dict, count: int, seed: int, longest: float) -> Counts:
    """Kill a run in `folder` after random times up to `longest` [s], `count` times; whenever it has
    come to its end, its results are compared with `whole`, and it begins anew."""
    counts, rng, round_ = Counts(), random.Random(seed), 0
    for number in range(count):
        here = folder / f"round{round_}"
        here.mkdir(parents=True, exist_ok=True)
        start = begin_anew if number % 8 == 7 else begin
        name, delay = rng.choice(list(SIGNALS)), rng.uniform(0.0, longest)
        kind, reason, finished = kill(start, here, SIGNALS[name], delay, rng)
        if finished and kind == "harmless":
            different = differing(whole, results(here / "runs" / NAME))
            round_ += 1
            kind, reason = ("wrong", f"{different} differ") if different else (kind, reason)
        counts.add(kind, f"{name} after {delay:.2f} s: {reason}")
    (folder / f"round{round_}").mkdir(exist_ok=True)
    child = begin(folder / f"round{round_}", folder / "last.txt")
    status = ended(child, LIMIT)
    different = differing(whole, results(folder / f"round{round_}" / "runs" / NAME))
    good = status == 0 and not different
    counts.add("harmless" if good else "wrong", f"in the end: {status}, {different}")
    return counts


def attack_step(
    run: Path, folder: Path, whole: dict, step: str, count: int, seed: int
) -> tuple[Counts, float]:
    """Kill a step of `STOPS`, `count` times after a random time that it has not ended in, each time
    in a new copy of `run`, and compare the results of the step, done again, with `whole`; and the
    seconds of the step."""
    counts, rng, stop = Counts(), random.Random(f"{step}{seed}"), STOPS[step]
    words, names = (f"only={stop.only}",), [("SIGKILL", "SIGTERM")[i % 2] for i in range(count)]

    def again(here: Path) -> str:
        """What is wrong with the results of the step, done to its end; "" for nothing."""
        status = ended(begin(here, folder / "again.txt", words), LIMIT)
        found = results(here / "runs" / NAME)
        known = {name: whole[name] for name in whole if name in found or name in stop.gives}
        different = differing(known, found)
        bad = status != 0 or different
        return f"{status}, {different} differ: {(folder / 'again.txt').read_text()}" if bad else ""

    without(run, folder / "whole", stop)
    begun = time.monotonic()
    undisturbed = again(folder / "whole")
    assert not undisturbed, undisturbed
    seconds = time.monotonic() - begun
    for number, name in enumerate(names):
        here = folder / str(number)
        without(run, here, stop)
        delay = rng.uniform(0.0, seconds)
        kind, reason, _ = kill(
            lambda where, output: begin(where, output, words), here, SIGNALS[name], delay, rng
        )
        wrong = again(here)
        if wrong:
            kind, reason = "wrong", f"{reason} {wrong}"
        counts.add(kind, f"{name} after {delay:.2f} s: {reason}")
        shutil.rmtree(here)
    return counts, seconds


def kill(
    start, here: Path, numbers: tuple[int, ...], delay: float, rng: random.Random
) -> tuple[str, str, bool]:
    """Begin a run, and send it signals after a time: the kind of the outcome, a reason, and whether
    the run had come to its end before."""
    output = here / "output.txt"
    child = start(here, output)
    status = ended(child, delay)
    finished = status is not None
    if not finished:
        for number in numbers:
            os.kill(child, number)
            status = ended(child, rng.uniform(0.0, 0.3) if len(numbers) > 1 else PATIENCE)
            if status is not None:
                break
        if status is None:
            status = ended(child, PATIENCE)
    stay = left(child, PATIENCE)
    if stay:
        return "silent", f"{status}: {stay} do not end: {output.read_text()[-300:]}", False
    said = output.read_text()
    if "Traceback" in said:
        return "tracebacks", said[-600:], False
    expected = {0} if finished else {0, *(code for n in numbers for code in (-n, 128 + n))}
    if status not in expected:
        return "wrong", f"exit status {status}: {said[-300:]}", False
    stopped = not finished and status != 0 and len(numbers) == 1
    if stopped and numbers[0] != signal.SIGKILL and "goes on from here" not in said:
        return "wrong", f"it does not say how to go on: {said[-300:]}", False
    return "harmless", "", finished or status == 0


def attack_together(folder: Path, whole: dict, processes: int) -> Counts:
    """Several processes begin the same run: one works, the others are refused by its name."""
    counts, outputs = Counts(), [folder / f"output{i}.txt" for i in range(processes)]
    folder.mkdir(parents=True, exist_ok=True)
    children = [begin(folder, output) for output in outputs]
    statuses = [ended(child, LIMIT) for child in children]
    worked = statuses.count(0)
    for status, output in zip(statuses, outputs, strict=True):
        said = output.read_text()
        kind = "harmless" if status == 0 else "refused"
        if "Traceback" in said or status not in (0, 2):
            kind = "tracebacks"
        elif status == 2 and "is in use by process" not in said:
            kind = "wrong"
        counts.add(kind, f"{processes} processes: {status}: {said[-400:]}")
    different = differing(whole, results(folder / "runs" / NAME))
    counts.add("wrong" if different or not worked else "harmless", f"{worked} worked: {different}")
    return counts
