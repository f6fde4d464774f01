"""Worker processes for CVODE: a pool whose processes never outlive their parent."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import cantera as ct


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


def in_processes(
    workers: int, work: Callable, tasks: list[tuple], on_progress: Callable[[int, int], None]
) -> list:
    """`work(*task)` of each task, in order, in processes that run CVODE; `on_progress` is told how
    many are done. Where one fails those that wait are not begun."""
    with open_pool(workers, ct.suppress_thermo_warnings) as pool:
        futures, results = [pool.submit(work, *task) for task in tasks], []
        try:
            for i, future in enumerate(futures):
                results.append(future.result())
                on_progress(i + 1, len(tasks))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return results
