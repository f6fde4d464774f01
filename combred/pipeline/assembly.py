"""The steps of a run, put together: each takes from the `Run` what its step asks for.

Takes a `Run` and results of the steps before; gives the result of the step. What a step has made is
read if it was made with the settings of now, and refused otherwise.
"""

import functools
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from rich.markup import escape

from combred.experiments import judges
from combred.experiments.accuracy import describe_accuracy
from combred.experiments.ignition.experiment import Ignitions
from combred.experiments.judges import References
from combred.experiments.storage import Answers
from combred.files.records import ANOTHER_RUN, read_record, require_same
from combred.pipeline import artefacts
from combred.pipeline.console import console, progress
from combred.pipeline.files import NetworkArtefact, stored_inputs
from combred.pipeline.resolved import of_settings
from combred.pipeline.run import Run
from combred.pipeline.stages import stage_table
from combred.pipeline.start import starting_point
from combred.pipeline.steps import export as exporting
from combred.pipeline.steps import reduce as reducing
from combred.pipeline.steps import sample as sampling
from combred.pipeline.steps import search as searching
from combred.pipeline.steps import train as training
from combred.pipeline.steps.sample import Data, read_data
from combred.pipeline.steps.validate import SETTINGS, load_validation, refer
from combred.pipeline.tables import shape
from combred.surrogates.files.card import describe_training, make_card
from combred.surrogates.library.choice import fastest
from combred.surrogates.model.surrogate import Surrogate


def require_cases(run: Run) -> None:
    """Raises ValueError, with the settings, where the criteria have no range of cases, or a case of
    the lowest T0 of the validation does not ignite: before anything is sampled and trained."""
    s = run.settings
    if s.stage and s.reduction.criteria:
        artefacts.criteria(run)
    if not s.only:
        coldest = replace(s.validation, T0=[min(s.validation.T0)])
        one = Ignitions.of(run.mechanism, run.mixture, coldest)
        with of_settings(SETTINGS[Ignitions]):
            list(map(one.steps_to_equilibrium, one.cases, one.Y0))


def sample(run: Run) -> Data:
    """Make states.h5 and sensitive.h5, where they are not there yet."""
    s, sensitive = run.settings, artefacts.sensitive(run)
    made_with = s.sampling, s.seed, run.workers
    sampling.make_states(artefacts.states(run), run.mechanism, *made_with)
    trains = s.stage > 0 or not starting_point(s, run.mechanism)[0]
    if sensitive.inputs and trains:
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
    name, why_not = starting_point(run.settings, run.mechanism)
    if name:
        return training.take_shipped(artefacts.shipped_network(run, name), data, name)
    if s.start == "shipped":
        console.print(f"  stage 0 is trained, none that comes with combred fits: {escape(why_not)}")
    surrogate = training.untrained(run.mechanism, data, s.network)
    training.Trainer(data, s.training).make(artefacts.trained_network(run), surrogate)
    return surrogate


def reduce(run: Run, data: Data, first: Surrogate) -> list[Surrogate]:
    """The surrogates of stages 0, 1, ... up to the one asked for."""
    s, surrogates = run.settings, [first]
    how = s.reduction, training.Trainer(data, s.retraining_settings)
    for stage in stage_table(s.reduction)[: s.stage]:
        artefact = artefacts.reduced_network(run, stage.index)
        if s.reduction.criteria:
            judge = judge_of(run, searching.search_folder(artefact))
            made = searching.search_smallest(artefact, first, *how, judge)
        else:
            made = reducing.make_stage(artefact, stage, surrogates, *how)
        surrogates.append(made)
    return surrogates


def judge_of(run: Run, folder: Path) -> Callable[[Surrogate], dict[str, float]]:
    """The errors of a surrogate's network alone, without the solver behind it, in the cases of the
    criteria, by kind. The references are computed when they are first asked for, and are kept in
    `folder`."""
    s, inputs = run.settings, artefacts.criteria(run)
    criteria = artefacts.acceptance(s)

    @functools.cache
    def references() -> list[References]:
        every = criteria.experiments(run.mechanism, run.mixture, s.validation)
        kept = [Answers(folder / f"{one.name}.h5", one, inputs, {}) for one in every]
        return [References(one.experiment, refer(run, one)) for one in kept]

    def judge(surrogate: Surrogate) -> dict[str, float]:
        alone = fastest(surrogate, alone=True)
        return judges.judge(alone, criteria.limits, references(), progress)

    return judge


def export(run: Run, data: Data, surrogates: list[Surrogate], validation: dict) -> None:
    """Write the surrogate of the last stage for a CFD code."""
    s, surrogate = run.settings, surrogates[-1]
    measured = validation["stages"][f"stage{s.stage}"]
    start = stored_inputs(run.weights(0)).get("shipped", "scratch")
    made = describe_training(asdict(s), run.mechanism, s.stage, data.table.rows, start)
    if data.table.provenance is None:
        made |= {"sampling": {}, "states_of": "the user"}
    given = measured["left_to_solver"], s.export.limits, validation["inputs"]
    card = make_card(surrogate, run.mechanism, describe_accuracy(measured, *given), made)
    exporting.export(run.folder, surrogate, card, data)


def report(run: Run, surrogates: list[Surrogate]) -> None:
    """Draw report.html and figures/. The surrogates are an input so that networks of other settings
    are refused before anything is drawn of them. Raises FileNotFoundError where the validation is
    of other networks."""
    from combred.report.run import write_report  # matplotlib is slow to import

    load_validation(run)
    write_report(run.folder, run.mechanism)


# -- what is there, of these settings --------------------------------------------------------------


def load_data(run: Run) -> Data:
    """The data of a run. Raises ValueError where they were made with other settings."""
    files = artefacts.states(run), artefacts.sensitive(run)
    s = run.settings
    dt = None if s.network.kinetics else s.validation.dt
    return read_data(*files, run.mechanism, s.seed, dt)


def load_surrogates(run: Run) -> list[Surrogate]:
    """The surrogates of stages 0, 1, ... up to the one asked for, from the run folder.

    Raises FileNotFoundError where one is missing, ValueError where it has other settings.
    """
    later = range(1, run.settings.stage + 1)
    reduced = (artefacts.reduced_network(run, i).load(run.mechanism) for i in later)
    return [load_first(run), *reduced]


def load_first(run: Run) -> Surrogate:
    """The surrogate of stage 0. Raises ValueError where it was made with other settings."""
    return stored_first(run).load(run.mechanism)


def stored_first(run: Run) -> NetworkArtefact:
    """The network of stage 0 that is there. Raises ValueError where it is a shipped one that does
    not fit; one that was trained here, with these settings, is also what start=shipped accepts."""
    stored = stored_inputs(run.weights(0))
    if "shipped" not in stored:
        return artefacts.trained_network(run)
    name, why_not = starting_point(run.settings, run.mechanism)
    then = stored["shipped"]
    if then == name and stored["digest"] == artefacts.shipped_digest(name):
        return artefacts.shipped_network(run, name)
    if name:
        now = f"{name} of this version, another network"
    else:
        now = f"one that is trained ({why_not})"
    raise ValueError(
        f"{run.weights(0)} is {then}, which came with combred; now asked for is {now}. Give the "
        "settings of before again, name another run with run=NAME, or move stage*.safetensors "
        f"(and search/, if there) in {run.folder} away: the states stay."
    )


def require_same_settings(run: Run) -> None:
    """ValueError if any file of the run folder is damaged, or was made with other settings.

    Asked before a command does anything: a run folder belongs to its settings.
    """
    states, record = artefacts.states(run), run.path("sample.json")
    if states.path.exists():
        load_data(run)
        if stored := read_record(record):
            require_same(record, stored.get("inputs", {}), states.inputs, ANOTHER_RUN)
    for stage in range(run.settings.reduction.stages + 1):
        if not run.weights(stage).exists():
            return  # the stages after it are made anew, or refused by their parent's digest
        network = artefacts.reduced_network(run, stage) if stage else stored_first(run)
        network.load(run.mechanism)
        network.require_numbers()
