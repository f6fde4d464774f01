"""Worker processes: a pool whose processes end with their parent, and with each other."""

import multiprocessing
import multiprocessing.connection
import multiprocessing.context
import os
import pickle
import signal
import sys
import threading
import time
import types
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import cantera as ct

from combred.processes.interrupts import postponed

# A worker is one thread: those of OpenBLAS and OpenMP wait for each other where every core has a
# worker, and small products of matrices then take up to thirty times as long.
THREADS = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"
CHECK = 0.1  # s between two looks at the parent by a worker that is loading modules
Ask = Callable[[Callable, list], list]  # of `Processes.asked`: ask(work, tasks)


@contextmanager
def open_pool(workers: int, start: Callable[..., Any], *arguments) -> Iterator[Executor]:
    """A pool of `workers` new processes; each calls start(*arguments) first. An exception in the
    context, as of Ctrl-C, ends the processes at once.

    They are spawned: a forked copy of a process that has used torch's threads may hang.
    """
    pool = Pool(workers, _Spawn(), _begin, (start, arguments))
    try:
        yield pool
    except BaseException:
        pool.abandon()
        raise
    pool.shutdown()


class Pool(ProcessPoolExecutor):
    """A pool of Python's that can be interrupted at any time, and whose processes may be killed at
    any time."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._all, self._results = self._processes, self._result_queue  # a shutdown forgets them
        self._ending = threading.Lock()

    def submit(self, work: Callable, /, *task, **options) -> Future:
        """As of any executor. It may start a process, and is not interrupted in the middle."""
        with postponed():
            known = set(self._all)
            future = super().submit(_checked, work, *task, **options)
            for number in self._all.keys() - known:
                process = (self._all[number],)
                threading.Thread(target=self._follow, args=process, daemon=True).start()
        return future

    def abandon(self) -> None:
        """End all processes at once, and wait until they have ended; what they do is lost."""
        self._end()
        self.shutdown(cancel_futures=True)

    def _follow(self, process: multiprocessing.context.SpawnProcess) -> None:
        """Wait for the end of a process; the others end with one that was killed."""
        multiprocessing.connection.wait([process.sentinel])
        if not self._shutdown_thread:
            self._end()

    def _end(self) -> None:
        for process in list(self._all.values()):
            process.terminate()
        # The pool's thread may have read the first part of a result. The rest never comes, and only
        # when nobody can write it, neither we, does the thread end.
        with self._ending:
            self._results._writer.close()


class _Worker(multiprocessing.context.SpawnProcess):
    def start(self) -> None:
        # Ctrl-C is for the parent. A new process has it blocked from its first instruction on.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        environment = {name: os.environ.get(name) for name in THREADS}
        os.environ.update(dict.fromkeys(THREADS, "1"))
        # A new process would run the user's script again, from its first line on, for objects that
        # are defined there. Ours are defined in modules, and a script needs no guard.
        script = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = script
            for name, value in environment.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def __reduce__(self):
        # The new process calls _arrive first; the state names functions, whose modules it loads.
        return _arrive, (os.getpid(),), self.__dict__


class _Spawn(multiprocessing.context.SpawnContext):
    Process = _Worker


def _arrive(parent: int) -> _Worker:
    """The worker's own object, in a new process of the process `parent`, which is followed from now
    on."""
    threading.Thread(target=_follow_parent, args=(parent,), daemon=True).start()
    return _Worker.__new__(_Worker)


def _begin(start: Callable[..., Any], arguments: tuple) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and stops us
    process: Any = multiprocessing.current_process()
    process.failure = None
    try:
        start(*arguments)
    except Exception as error:  # the pool would tell of a process that was killed
        process.failure = error


def _checked(work: Callable, /, *task: Any, **options: Any) -> Any:
    """The result of work(*task) in a worker. Raises its exception, or that of the beginning of the
    worker; one that pickle cannot hand on, as of a constructor with two arguments, would break the
    pool: a sentence takes its place."""
    process: Any = multiprocessing.current_process()
    try:
        if failure := getattr(process, "failure", None):
            raise failure
        return work(*task, **options)
    except Exception as error:
        if _can_be_handed_on(error):
            raise
        kind = ValueError if isinstance(error, ValueError) else RuntimeError
        raise kind(f"{type(error).__name__}: {error}") from error


def _can_be_handed_on(error: Exception) -> bool:
    """Whether pickle gives the same exception again."""
    try:
        again = pickle.loads(pickle.dumps(error))  # noqa: S301  our own bytes
        return type(again) is type(error) and str(again) == str(error)
    except Exception:
        return False


def _follow_parent(number: int) -> None:
    # A killed parent cannot stop its workers, and they would wait for tasks for ever.
    while (parent := multiprocessing.parent_process()) is None:  # before the first task
        if os.getppid() != number:
            os._exit(1)
        time.sleep(CHECK)
    multiprocessing.connection.wait([parent.sentinel])
    os._exit(1)


@dataclass(frozen=True)
class Processes:
    """A number of processes, and what is told of their work: on_progress(done, all)."""

    workers: int = 1
    on_progress: Callable[[int, int], None] = lambda *_: None

    def results(self, work: Callable, tasks: list[tuple]) -> list:
        """The results of work(*task) for each task, in order; on_progress has numbers of tasks. If
        a task raises, no waiting task is started, and the exception is raised here."""
        with open_pool(self.workers, ct.suppress_thermo_warnings) as pool:
            futures, results = [pool.submit(work, *task) for task in tasks], []
            for i, future in enumerate(futures):
                results.append(future.result())
                self.on_progress(i + 1, len(tasks))
        return results

    @contextmanager
    def completed(
        self, make: Callable, arguments: tuple, work: Callable, tasks: Iterable
    ) -> Iterator[Iterator[tuple]]:
        """A context with the pairs (task, work(own, task)) of all tasks, as they are completed.
        own: make(*arguments), which each process makes once and keeps."""
        with open_pool(self.workers, _make_own, make, arguments) as pool:
            futures = {pool.submit(_work_with_own, work, task): task for task in tasks}
            # No result is kept when the next one is asked for.
            yield ((futures.pop(future), future.result()) for future in as_completed(futures))

    @contextmanager
    def asked(self, make: Callable, arguments: tuple) -> Iterator[Callable[[Callable, list], list]]:
        """A context with a function of (work, tasks): the results of work(own, task), in order.
        own: make(*arguments), which each process makes once and keeps."""
        with open_pool(self.workers, _make_own, make, arguments) as pool:

            def ask(work: Callable, tasks: list) -> list:
                futures = [pool.submit(_work_with_own, work, task) for task in tasks]
                return [future.result() for future in futures]

            yield ask


def _make_own(make: Callable, arguments: tuple) -> None:
    ct.suppress_thermo_warnings()
    process: Any = multiprocessing.current_process()
    process.own = make(*arguments)


def _work_with_own(work: Callable, task: Any) -> Any:
    process: Any = multiprocessing.current_process()
    return work(process.own, task)
