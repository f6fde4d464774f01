"""How a command ends: signals stop it, and an error that a user can mend is one message.

Takes the work of a command as a function; gives its exit status. It configures the log.
"""

import errno
import logging
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cantera as ct

from combred.chemistry.reactor import IntegrationError
from combred.config.fields import one_line, shown
from combred.names import PackageMissing
from combred.native.compilers import CompilerError
from combred.pipeline.console import complain, console
from combred.processes.interrupts import GOES_ON, NUMBERS

# What a user can mend, with the remedy in its message.
MENDED = (
    ValueError, FileNotFoundError, FloatingPointError, IntegrationError, CompilerError,
    PackageMissing,
)  # fmt: skip


def guarded(work: Callable[[], int], resumes: bool = True) -> int:
    """The exit status of `work`: its own, 2 after an error, 128 + its number after a signal.
    resumes: whether the same command goes on where it was stopped."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    stopped = f"[yellow]stopped.[/]{GOES_ON * resumes}"
    with _stopped_by_signals(stopped):
        try:
            return _explained(work)
        except KeyboardInterrupt as interrupt:  # also while an error is being printed
            console.print(stopped)
            return 128 + (interrupt.args[0] if interrupt.args else signal.SIGINT)


@contextmanager
def _stopped_by_signals(stopped: str) -> Iterator[None]:
    """Ctrl-C and SIGTERM raise KeyboardInterrupt; a second one ends the process at once. `stopped`
    is what an interrupt prints that Python would forget."""

    def stop(number: int, _: object) -> None:
        for each in heard:
            signal.signal(each, lambda number, _: os._exit(128 + number))
        raise KeyboardInterrupt(number)

    def unraisable(failure: Any) -> None:
        # Python would print and forget an interrupt that falls into the destructor of an object.
        if isinstance(failure.exc_value, KeyboardInterrupt):
            console.print(stopped)
            os._exit(128 + (failure.exc_value.args or (signal.SIGINT,))[0])
        hook(failure)

    if threading.current_thread() is not threading.main_thread():
        yield  # signals are of the main thread
        return
    # What is ignored stays so: a shell starts what runs in its background deaf to Ctrl-C.
    heard = [each for each in NUMBERS if signal.getsignal(each) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heard}
    hook, sys.unraisablehook = sys.unraisablehook, unraisable
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


def _explained(work: Callable[[], int]) -> int:
    try:
        return work()
    except MENDED as error:
        complain(str(error))
    except ct.CanteraError as error:
        complain(f"Cantera: {shown(one_line(error), 600)}")
    except BrokenProcessPool:
        complain(
            "a process that does chemistry was killed, perhaps for lack of memory. Finished work "
            "is kept: run the same command again, with fewer workers if it happens again."
        )
    except OSError as error:
        complain(
            f"a file could not be written or read: {error}. {_remedy(error)} Finished work is "
            "kept: run the same command again once the cause is mended."
        )
    except (MemoryError, RuntimeError) as error:
        told = ("allocate memory", "out of memory")
        if not isinstance(error, MemoryError) and not any(one in str(error) for one in told):
            raise
        complain(
            "the memory of this machine is too small for this. Give fewer workers, or, of a "
            "training, fewer sampling.states, or a smaller network.hidden or training.batch_final. "
            "Finished work is kept."
        )
    return 2


def _remedy(error: OSError) -> str:
    """What mends an error of the file system, in a sentence."""
    if error.errno == errno.EFBIG:
        return (
            "Files may not become so large: raise the limit of this shell (`ulimit -f unlimited`)."
        )
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        place = Path(error.filename or "").absolute()
        while not place.is_dir() and place != place.parent:
            place = place.parent
        return (
            f"The disk of {place} has {shutil.disk_usage(place).free / 1e9:.1f} GB free: make room."
        )
    if error.errno in (errno.ENOLCK, errno.ENOSYS):
        return "The file system has no locks: work in a folder on a local disk."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "You may not write there: change the permissions, or work in another folder."
    if error.errno in (errno.EISDIR, errno.ENOTDIR, errno.EEXIST):
        return "A folder stands where a file belongs, or a file where a folder: move it away."
    return "The operating system refused it."
