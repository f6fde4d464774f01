"""A command that works says so: lines in the place of silence, and none beside a moving bar."""

import io
import time

import pytest

from combred.pipeline import console as pipeline_console
from combred.pipeline.console import StatusConsole

SILENCE = 0.1  # s


@pytest.fixture
def console() -> StatusConsole:
    return StatusConsole(file=io.StringIO(), width=100)


def test_a_line_breaks_every_silence(console):
    console.begin("training stage 0")
    with console.heard(SILENCE):
        time.sleep(5 * SILENCE)
    lines = console.file.getvalue().splitlines()
    assert 2 <= len(lines) <= 5 and all("training stage 0" in line for line in lines)


def test_on_a_terminal_one_line_is_replaced_until_another_is_printed():
    console = StatusConsole(file=io.StringIO(), width=100, force_terminal=True, color_system=None)
    console.begin("exporting")
    with console.heard(SILENCE):
        time.sleep(5 * SILENCE)
        console.print("exported")
        console.begin("")
    written = console.file.getvalue()
    first, *others = written.split("\r\x1b[2K")
    assert len(others) >= 3 and written.count("\n") == 1
    assert all(line.startswith("  exporting, ") for line in (first, *others[:-1]))
    assert others[-1] == "exported\n"


def test_there_is_no_line_beside_a_bar_or_where_nothing_is_done(console):
    with console.heard(SILENCE):
        time.sleep(3 * SILENCE)
        console.begin("labelling states")
        console.bar = True
        time.sleep(3 * SILENCE)
    assert console.file.getvalue() == ""


def test_a_progress_bar_tells_in_words_how_far_it_is(monkeypatch, console):
    monkeypatch.setattr(pipeline_console, "console", console)
    console.begin("train")
    with pipeline_console.progress("training stage 0") as bar:
        bar(20, 1000, "loss 0.5")
        assert console.doing == "training stage 0: 20 of 1,000, loss 0.5"
    assert console.doing == "train" and not console.bar
