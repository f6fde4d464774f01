"""A run that is stopped again and again: `python killed.py FOLDER ARGUMENT ...`.

Each stop is of a copy of this process, which has imported everything before, and which goes on with
the command in FOLDER. It is stopped as soon as `seen` is true: first by SIGTERM, then by SIGKILL,
after which its worker processes have to end by themselves. Prints a line for each stop: what was
seen, the exit status or signal, and whether its last line says how to go on.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path


def labelling(run: Path) -> bool:
    """Some blocks of states are labelled, and some are not."""
    import h5py

    try:
        with h5py.File(run / "states.partial.h5", "r", locking=False) as file:
            done = file["checksums"][...] > 0
    except (OSError, KeyError):
        return False
    return 0 < done.sum() < len(done)


def stop(
    run: Path, seen: Callable[[Path], bool], number: int, arguments: list[str]
) -> tuple[int, str]:
    """The exit status or signal of a copy of this process that gets the signal `number` once
    `seen(run)` is true, and its output."""
    from combred.pipeline.command import main

    output = Path("output.txt")
    child = os.fork()
    if child == 0:
        os.setsid()  # its worker processes are of its group
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        status = main(arguments)
        sys.stdout.flush()
        os._exit(status)
    deadline = time.monotonic() + 120
    while not seen(run):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended or time.monotonic() > deadline:
            raise RuntimeError(f"ended before it was stopped: {status}\n{output.read_text()}")
        time.sleep(0.002)
    status = end(child, number)
    while time.monotonic() < deadline:
        try:
            os.killpg(child, 0)  # a worker process is left
        except ProcessLookupError:
            return os.waitstatus_to_exitcode(status), output.read_text()
        time.sleep(0.02)
    raise RuntimeError("a worker process does not end")


def end(child: int, number: int) -> int:
    """Send a process the signal `number`; its status once it has ended. Sent again after ten
    seconds: Python ignores an interrupt that falls into the destructor of an object."""
    while True:
        os.kill(child, number)
        for _ in range(1000):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return status
            time.sleep(0.01)


def main() -> None:
    """Stop the run at every long step."""
    import torch._dynamo  # noqa: F401  # which every optimiser imports; it takes seconds

    folder, *arguments = sys.argv[1:]
    os.chdir(folder)
    run = Path(f"runs/{dict(a.split('=') for a in arguments)['run']}")
    for what, seen, number in (
        ("begun", lambda run: (run / "states.partial.h5").exists(), signal.SIGTERM),
        ("labelling", labelling, signal.SIGKILL),
        ("stage0", lambda run: (run / "stage0.checkpoint").exists(), signal.SIGKILL),
        ("stage1", lambda run: (run / "stage1.checkpoint").exists(), signal.SIGKILL),
    ):
        status, output = stop(run, seen, number, arguments)
        made = ",".join(
            sorted(p.stem for p in run.glob("*.*") if p.suffix in (".h5", ".safetensors"))
        )
        print(what, status, made, "goes on from here" in output)


if __name__ == "__main__":
    main()
