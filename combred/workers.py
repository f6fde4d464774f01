"""Worker processes for CVODE: a pool whose processes end with their parent."""

import multiprocessing
import multiprocessing.connection
import multiprocessing.context
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager

import cantera as ct


@contextmanager
def open_pool(workers: int, start: Callable[..., None], *arguments) -> Iterator[Executor]:
    """A pool of `workers` new processes; each calls start(*arguments) first. An exception in the
    context, as of Ctrl-C, ends the processes at once.

    They are spawned: a forked copy of a process that has used torch's threads may hang.
    """
    pool = ProcessPoolExecutor(workers, _Spawn(), _begin, (start, arguments))
    try:
        yield pool
    except BaseException:
        processes = list((pool._processes or {}).values())  # public in Python 3.14
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        raise
    pool.shutdown()


class _Worker(multiprocessing.context.SpawnProcess):
    def start(self) -> None:
        # Ctrl-C is for the parent. A new process has it blocked from its first instruction on.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Spawn(multiprocessing.context.SpawnContext):
    Process = _Worker


def _begin(start: Callable[..., None], arguments: tuple) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and stops us
    threading.Thread(target=_follow_parent, daemon=True).start()
    start(*arguments)


def _follow_parent() -> None:
    # A killed parent cannot stop its workers, and they would wait for tasks for ever.
    parent = multiprocessing.parent_process()
    if parent is None:
        raise RuntimeError("this process has no parent to follow: only workers of a pool have one")
    multiprocessing.connection.wait([parent.sentinel])
    os._exit(1)


def in_processes(
    workers: int, work: Callable, tasks: list[tuple], on_progress: Callable[[int, int], None]
) -> list:
    """The results of work(*task) for each task, in order, from `workers` processes.

    `on_progress` receives the number of finished tasks and of all tasks. If a task raises, no
    waiting task is started, and the exception is raised here.
    """
    with open_pool(workers, ct.suppress_thermo_warnings) as pool:
        futures, results = [pool.submit(work, *task) for task in tasks], []
        for i, future in enumerate(futures):
            results.append(future.result())
            on_progress(i + 1, len(tasks))
    return results
