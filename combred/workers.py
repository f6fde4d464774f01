"""Worker processes for CVODE: a pool whose processes never outlive their parent."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor


def open_pool(workers: int, start: Callable[..., None], *arguments) -> ProcessPoolExecutor:
    """A pool of `workers` fresh processes; each calls start(*arguments) first.

    Fresh (spawned) because a forked copy of a process that has run torch's threads may hang.
    """
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, context, _begin, (start, arguments))


def _begin(start: Callable[..., None], arguments: tuple) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops us
    threading.Thread(target=_follow_parent, daemon=True).start()
    start(*arguments)


def _follow_parent() -> None:
    # A parent that is killed cannot say so, and its workers would wait for work for ever.
    multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)
