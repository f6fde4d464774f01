"""The steps of a run, put together: each takes from the `Run` what its step asks for.

A step that is done is not done again. Takes a `Run` and results of the steps before; gives the
result of the step.
"""

import functools
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from rich.markup import escape

from combred.pipeline import artefacts
from combred.pipeline.artefacts import Artefact
from combred.pipeline.console import console, progress
from combred.pipeline.run import Run
from combred.pipeline.stages import stage_table
from combred.pipeline.start import starting_point
from combred.pipeline.steps import export as exporting
from combred.pipeline.steps import reduce as reducing
from combred.pipeline.steps import sample as sampling
from combred.pipeline.steps import search as searching
from combred.pipeline.steps import train as training
from combred.pipeline.steps.cases import FLAMES, IGNITIONS, Kind, answers
from combred.pipeline.steps.networks import stored_inputs
from combred.pipeline.steps.sample import Data
from combred.pipeline.stored import load_data, load_first, start_of
from combred.pipeline.tables import shape
from combred.surrogate.card import describe_accuracy, describe_training, make_card
from combred.surrogate.surrogate import Surrogate
from combred.validation.acceptance import AcceptanceCriteria, References
from combred.validation.acceptance import judge as judge_network


def sample(run: Run) -> Data:
    """Make states.h5 and sensitive.h5, where they are not there yet."""
    s, sensitive = run.settings, artefacts.sensitive(run)
    made_with = s.sampling, s.seed, run.workers
    sampling.make_states(artefacts.states(run), run.mechanism, *made_with)
    nothing_trains = s.stage == 0 and s.start == "shipped" and starting_point(s, run.mechanism)[0]
    if sensitive.inputs and not nothing_trains:
        sampling.make_sensitivities(sensitive, run.mechanism, s.sensitivity, *made_with)
    return load_data(run)


def train(run: Run, data: Data) -> Surrogate:
    """The network of stage 0: reused, taken from the models that come with combred, or trained."""
    s = run.settings
    if run.weights(0).exists():
        surrogate = load_first(run)
        name = stored_inputs(run.weights(0)).get("shipped")
        came = f", {name}, which comes with combred" if name else ""
        console.print(f"stage 0: {shape(surrogate.network)}{came}, reused")
        return surrogate
    name, why_not = start_of(run)
    if name:
        return training.take_shipped(artefacts.shipped_network(run, name), data, name)
    if s.start == "shipped":
        console.print(f"  stage 0 is trained, none that comes with combred fits: {escape(why_not)}")
    artefact = artefacts.trained_network(run)
    return training.train_first(artefact, run.mechanism, data, s.network, s.training)


def reduce(run: Run, data: Data, first: Surrogate) -> list[Surrogate]:
    """The surrogates of stages 0, 1, ... up to the one asked for."""
    s, surrogates = run.settings, [first]
    how = s.reduction, s.retraining_settings
    for stage in stage_table(s.reduction)[: s.stage]:
        artefact = artefacts.reduced_network(run, stage.index)
        if s.reduction.criteria:
            judge = judge_of(run, searching.search_folder(artefact))
            made = searching.search_smallest(artefact, first, data, *how, judge)
        else:
            made = reducing.make_stage(artefact, stage, surrogates, data, *how)
        surrogates.append(made)
    return surrogates


def judge_of(run: Run, folder: Path) -> Callable[[Surrogate], dict[str, float]]:
    """The errors of a surrogate in the cases of the criteria, by kind. The references are computed
    when they are first asked for, and are kept in `folder`."""
    s, inputs = run.settings, artefacts.criteria(run)
    criteria = AcceptanceCriteria.of(s.reduction, s.validation)

    def answered(kind: Kind, file: str, cases: list) -> list:
        artefact = Artefact(folder / file, inputs)
        return answers(run, kind, artefact, {}, {}, cases)["reference"] if cases else []

    @functools.cache
    def references() -> References:
        ignitions = answered(IGNITIONS, "ignitions.h5", criteria.ignitions)
        return References(ignitions, answered(FLAMES, "flames.h5", criteria.flames))

    def judge(surrogate: Surrogate) -> dict[str, float]:
        with_references = criteria, references(), s.validation.dt
        return judge_network(run.mechanism, surrogate, *with_references, progress)

    return judge


def export(run: Run, data: Data, surrogates: list[Surrogate], validation: dict) -> None:
    """Write the surrogate of the last stage for a CFD code."""
    s, surrogate = run.settings, surrogates[-1]
    measured = validation["stages"][f"stage{s.stage}"]
    start = stored_inputs(run.weights(0)).get("shipped", "scratch")
    made = describe_training(asdict(s), run.mechanism, s.stage, data.table.rows, start)
    accuracy = describe_accuracy(measured, validation["inputs"])
    card = make_card(surrogate, run.mechanism, accuracy, made)
    exporting.export(run.folder, surrogate, card, data)


def report(run: Run, surrogates: list[Surrogate]) -> None:
    """Draw report.html and figures/. The surrogates are an input so that networks of other settings
    are refused before anything is drawn of them."""
    from combred.report.writing import write_report  # matplotlib is slow to import

    write_report(run.folder, run.mechanism)
