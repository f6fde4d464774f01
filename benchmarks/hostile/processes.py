"""Runs that are killed at random moments, and several processes in one folder.

A run is a copy of this process, which has loaded torch and Cantera, and which goes on with the
command. It gets SIGKILL, SIGTERM, Ctrl-C or Ctrl-C twice after a random time, again and again. Then
the command has to end well, with the results of a run that nobody disturbed.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.hostile.files import NAME, SMALL, differing, results
from benchmarks.hostile.outcome import Counts
from combred.pipeline.command import main

SIGNALS = {
    "SIGKILL": (signal.SIGKILL,),
    "SIGTERM": (signal.SIGTERM,),
    "Ctrl-C": (signal.SIGINT,),
    "Ctrl-C twice": (signal.SIGINT, signal.SIGINT),
}
PATIENCE = 10.0  # s, in which a process and its workers have to end after a signal
LIMIT = 300.0  # s, for a whole run


def begin(folder: Path, output: Path) -> int:
    """The process id of a run in `folder`, begun as a copy of this process."""
    child = os.fork()
    if child:
        return child
    os.setsid()  # its worker processes are of its group
    os.chdir(folder)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    status = main(SMALL)
    sys.stdout.flush()
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


def left_alone(group: int, seconds: float) -> bool:
    """Whether the processes of a group end by themselves within a time."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    os.killpg(group, signal.SIGKILL)
    return False


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
    if not left_alone(child, PATIENCE):
        return "silent", f"{status}: a process does not end: {output.read_text()[-300:]}", False
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
