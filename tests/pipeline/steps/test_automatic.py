"""A run with the automatic loop: tiny, to the end, killed, continued; and its report."""

import json
import shutil

import pytest
import torch
from killed import Killed
from safetensors.torch import load_file
from tiny import TINY, finished_run

from combred.files.trace import Trace

pytestmark = pytest.mark.slow
LOOP = (
    " ".join(word for word in TINY.split() if "thresholds" not in word)
    + " stage=1 start=scratch reduction.automatic=0.93 reduction.attempts=20"
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory, in_process):
    return finished_run(in_process, tmp_path_factory.mktemp("loop"), *LOOP.split())


def record(folder) -> dict:
    return json.loads((folder / "runs/tiny/reduce.json").read_text())["stages"][0]


def test_the_loop_ends_where_it_was_asked_to_and_the_report_says_how(finished):
    told = record(finished)
    assert told["loop"]["reason"] == "target" and told["loop"]["reductions"] >= 1
    assert 0 < told["weights_after"] < 0.94 * told["weights_before"]
    assert told["loop"]["metric"] >= 0.8  # the paper's criterion of a last layer
    assert 1 <= told["loop"]["steps"] <= 20 * 80 / 200
    assert told["retraining"]["steps"] == 80
    text = (finished / "runs/tiny/report.html").read_text()
    assert "automatic loop, asked" in text and "ended by the size" in text
    command = json.loads((finished / "runs/tiny/surrogate.json").read_text())["training"]["command"]
    assert "reduction.automatic=0.93" in command and "thresholds" not in command


def test_a_killed_loop_goes_on_to_the_same_network(finished, copy, call, monkeypatch):
    folder, whole = copy / "runs/tiny", Trace.save
    shutil.rmtree(folder / "automatic")
    for path in [*folder.glob("stage1*"), folder / "reduce.json", folder / "validation.json"]:
        path.unlink()
    for event in (2, 3):

        def save_and_die(self, state, event=event):
            whole(self, state)
            if self.path.name == "trace.state" and len(self.rows) == event:
                raise Killed

        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(Trace, "save", save_and_die)
            call(copy, LOOP, "only=reduce")
    status, output = call(copy, LOOP, "only=reduce")
    assert status == 0, output
    ours, theirs = (load_file(f / "runs/tiny/stage1.safetensors") for f in (copy, finished))
    assert all(torch.equal(ours[k], theirs[k]) for k in theirs)
