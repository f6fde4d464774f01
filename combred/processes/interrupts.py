"""Ctrl-C and SIGTERM, which Python turns into an exception at any line, where that does harm.

Imports nothing of combred.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

NUMBERS = signal.SIGINT, signal.SIGTERM
GOES_ON = " The same command goes on from here."


def stop_at_once(resumes: bool = True) -> None:
    """From now on Ctrl-C and SIGTERM end the process with one line: a command, which `resumes` or
    not, loads its modules, and no work is lost. What is ignored stays so."""

    def stop(number: int, _: object) -> None:
        os.write(2, f"stopped.{GOES_ON * resumes}\n".encode())
        os._exit(128 + number)

    for each in NUMBERS:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, stop)


@contextmanager
def postponed() -> Iterator[None]:
    """A context in which Ctrl-C and SIGTERM wait until its end, where a handler of Python receives
    them; for what has to be done as a whole, and is short.

    A process that is interrupted between the start of another one and the line that notes it has
    one that nobody ends.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread alone
        return
    # What is ignored stays so, and the default action ends a process wherever it is.
    waiting, holds = [], True
    before: dict[int, Callable[[int, FrameType | None], Any]] = {}
    for number in NUMBERS:
        handler = signal.getsignal(number)
        if callable(handler):
            before[int(number)] = handler

    def wait(number: int, frame: FrameType | None) -> None:
        if holds:
            waiting.append(number)
        else:  # an interrupt came before all handlers were restored
            before[number](number, frame)

    try:
        for each in before:
            signal.signal(each, wait)
        yield
    finally:
        holds = False
        for each, handler in before.items():
            signal.signal(each, handler)
        for each in waiting:
            signal.raise_signal(each)
