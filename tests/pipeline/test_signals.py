"""Ctrl-C at inconvenient moments, and errors of the operating system: one line, no traceback."""

import errno
import os
import signal
import subprocess
import sys
import time

import cantera as ct
import pytest

from combred.pipeline import command, guard


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_an_error_is_printed_is_no_traceback(monkeypatch, capsys, number):
    monkeypatch.setattr(guard, "complain", lambda _: signal.raise_signal(number))
    assert command.main(["stage=x"]) == 128 + number
    assert "goes on from here" in capsys.readouterr().out


CODE = """
import os, signal, sys, time
from combred.pipeline import command

class Object:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)  # here Python runs the handler, and ignores the exception

def prepare(settings):
    Object()
    time.sleep(30)

command.prepare = prepare
sys.exit(command.main(["stage=1"]))
"""


def test_an_interrupt_in_a_destructor_is_not_lost():
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=60)
    assert done.returncode == 130 and "goes on from here" in done.stdout
    assert "Traceback" not in done.stderr and time.monotonic() - begun < 40.0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("combred.pipeline stage=x", "stopped. The same command goes on from here."),
        ("combred.command check x", "stopped. The same command goes on from here."),
        ("combred.command export x y", "stopped.\n"),
    ],
)
def test_ctrl_c_while_modules_are_loaded_is_one_line(words, told):
    child = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", *words.split()],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    for line in child.stderr:
        if "numpy" in line:
            break
    child.send_signal(signal.SIGINT)
    rest = child.stderr.read()
    assert child.wait(30) == 130 and told in rest and "Traceback" not in rest


FRAME = "*" * 79
OF_CANTERA = f"\n{FRAME}\nCanteraError thrown by Phase::setState:\nno such state\n{FRAME}\n"
OF_MEMORY = "[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"


def of_a_file(number: int) -> OSError:
    return OSError(number, os.strerror(number), "a.h5")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (of_a_file(errno.ENOSPC), ["GB free: make room", "a.h5"]),
        (of_a_file(errno.EFBIG), ["`ulimit -f unlimited`", "a.h5"]),
        (of_a_file(errno.ENOLCK), ["no locks: work in a folder on a local disk", "a.h5"]),
        (of_a_file(errno.EROFS), ["You may not write there", "a.h5"]),
        (of_a_file(errno.EACCES), ["You may not write there", "a.h5"]),
        (of_a_file(errno.EISDIR), ["move it away", "a.h5"]),
        (of_a_file(errno.EIO), ["operating system", "a.h5"]),
        (RuntimeError(OF_MEMORY), ["a smaller network.hidden"]),
        (
            ct.CanteraError(OF_CANTERA),
            ["error: Cantera: CanteraError thrown by Phase::setState: no such state\n"],
        ),
    ],
)
def test_errors_of_others_have_their_own_remedies(monkeypatch, capsys, error, words):
    def fail(*_):
        raise error

    monkeypatch.setattr(command, "prepare", fail)
    assert command.main(["stage=1"]) == 2
    output = " ".join(capsys.readouterr().out.split()) + "\n"
    assert output.startswith("error: ") and all(word in output for word in words)
    assert ("make room" in output) == ("make room" in words[0])
