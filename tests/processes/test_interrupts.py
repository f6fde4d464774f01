"""Ctrl-C and SIGTERM wait where an exception would do harm, and are not lost."""

import signal
import threading

import pytest

from combred.processes.interrupts import NUMBERS, postponed


@pytest.fixture(params=NUMBERS)
def number(request):
    """A signal, whose handler raises KeyboardInterrupt in the test."""

    def stop(number, frame):
        raise KeyboardInterrupt(number)

    before = {each: signal.signal(each, stop) for each in NUMBERS}
    yield request.param
    for each, handler in before.items():
        signal.signal(each, handler)


def test_an_interrupt_waits_for_the_end_of_the_context(number):
    done, handler = [], signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt) as stopped, postponed():
        signal.raise_signal(number)
        done.append("whole")
    assert done == ["whole"] and stopped.value.args == (number,)
    assert signal.getsignal(number) is handler
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


def test_without_an_interrupt_and_with_an_error_handlers_are_those_of_before(number):
    handler = signal.getsignal(number)
    with pytest.raises(ValueError, match="other"), postponed():
        raise ValueError("other")
    assert signal.getsignal(number) is handler


def test_an_interrupt_while_handlers_are_restored_leaves_none_deaf(number, monkeypatch):
    """The exception of one signal comes before the handler of the other is restored."""
    whole, calls = signal.signal, []

    def interrupted(each, handler):
        calls.append(each)
        if len(calls) == 2 * len(NUMBERS):  # the last handler is not restored
            raise KeyboardInterrupt
        return whole(each, handler)

    with pytest.raises(KeyboardInterrupt), monkeypatch.context() as patch, postponed():
        patch.setattr(signal, "signal", interrupted)
        calls.extend(NUMBERS)  # those that were set before the patch
    for each in NUMBERS:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(each)


def test_what_is_ignored_stays_so(number):
    signal.signal(number, signal.SIG_IGN)
    with postponed():
        assert signal.getsignal(number) is signal.SIG_IGN
        signal.raise_signal(number)


def test_in_another_thread_nothing_is_changed(number):
    found = []

    def work():
        with postponed():
            found.append(signal.getsignal(number))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(number)]
