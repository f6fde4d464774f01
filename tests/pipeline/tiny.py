"""Tiny runs of the pipeline: real in every step, and far too small to be accurate.

A test calls the command in its own process.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from compiled_program import ONE_STATE
from PIL import Image

from combred.experiments import judges
from combred.experiments.stirred import experiment as stirred
from combred.native import builder, exporter
from combred.pipeline.command import main
from combred.pipeline.steps import export, validate
from combred.surrogates import timing
from combred.surrogates.library import behind, choice
from combred.surrogates.library.choice import StateFunction

# Two stages on premixed gas.
TINY = (
    "profile=smoke stage=2 run=tiny sampling.states=240 sampling.ignitions=4 "
    "network.hidden=[24,12] training.steps=300 training.batch=64 "
    "training.batch_final=64 retraining.steps=80 "
    "reduction.thresholds=[0.8,0.4] validation.T0=[1800] validation.burnt_time=5e-5 workers=1 "
    "sampling.dt=[4e-6,4e-6] validation.dt=4e-6"
)


def merged(*texts: str) -> list[str]:
    """The settings in some texts, each once: of those given twice the last."""
    found = {word.partition("=")[0]: word for text in texts for word in text.split()}
    return list(found.values())


@contextmanager
def cheap_steps(in_process) -> Iterator[None]:
    """What takes long and is tested elsewhere is left out: worker processes, the rendering of
    figures, the optimisation of TorchScript (tests/surrogates/files/test_export.py) and of C++,
    precise times (tests/surrogates/test_timing.py), large stirred reactors (tests/experiments), and
    most of the ignitions of criteria. A quarter of the states is held out."""
    few = replace(stirred.CASE, particles=8, steps=12)
    with in_process(), torch.jit.optimized_execution(False), pytest.MonkeyPatch.context() as patch:
        patch.setattr("combred.report.pages.save", _one_pixel)
        patch.setattr("combred.files.records.sync", lambda path: None)
        patch.setattr(choice, "scripted", StateFunction)
        patch.setattr(choice, "is_compiled", lambda surrogate: False)
        patch.setattr(behind, "is_compiled", lambda surrogate: False)
        patch.setattr(export, "is_compiled", lambda surrogate: surrogate.kinetics)  # in few runs
        patch.setattr(exporter, "build_portable", _for_this_cpu)
        patch.setattr(validate, "compiling_ahead", lambda surrogates: nullcontext())
        patch.setattr(timing, "WARM_UP", 0)
        patch.setattr(timing, "CVODE_STATES", 8)
        patch.setattr(stirred, "CASE", few)
        patch.setattr(judges, "IGNITIONS", 3)
        patch.setattr("combred.pipeline.steps.sample.HELD_OUT", 0.25)
        yield


def _for_this_cpu(files: dict[str, str]) -> Path:
    """A library of one level, not optimised: tests/native/test_portable.py has all levels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "PIECES", {"all": 15})
        return builder.build(files, flags=("-O0", ONE_STATE))


def _one_pixel(figure, path: Path) -> None:
    Image.new("RGB", (1, 1)).save(path)


def finished_run(in_process, folder: Path, *arguments: str) -> Path:
    """The folder, after the command has run there to its end."""
    with cheap_steps(in_process), pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(merged(*arguments)) == 0
    return folder
