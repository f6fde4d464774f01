"""The step `train`: the network of stage 0; and the training of any stage."""

from collections.abc import Callable

import torch
from rich.markup import escape

from combred.config import TrainingSettings
from combred.pipeline.console import progress, say, shape
from combred.pipeline.run import Run
from combred.records import read_json, write_json
from combred.surrogate import shipped
from combred.surrogate.network import Network, initialize
from combred.surrogate.storage import save_surrogate
from combred.surrogate.surrogate import Surrogate
from combred.surrogate.transform import make_transform
from combred.training import loop as training
from combred.training.batches import fit_transform
from combred.training.progress import forget_checkpoint
from combred.training.validation_loss import ValidationLoss


def train_first(run: Run) -> None:
    """stage0.safetensors, stage0.jsonl and train.json."""
    s, record = run.settings, run.path("train.json")
    if run.weights(0).exists():
        shown, name = shape(run.surrogate(0).network), read_json(record).get("shipped")
        came = f", {name}, which comes with combred" if name else ""
        say(run, f"stage 0: {shown}{came}, reused")
        return
    name, why_not = run.start
    if name:
        start_shipped(run, name)
        return
    if s.start == "shipped":
        say(run, f"  stage 0 is trained, none that comes with combred fits: {escape(why_not)}")
    inputs, table = run.train_inputs(shipped=False), run.states()
    held_out = table.held_out(s.training.held_out, s.seed)
    transform = make_transform(
        run.mechanism, s.dt, s.network.boxcox, s.network.floor, s.network.power, s.network.kinetics
    )
    fit_transform(transform, table, held_out)
    network = Network([transform.n_inputs, *s.network.hidden, 2 + run.mechanism.n_species])
    initialize(network, s.network.layer_scales, torch.Generator().manual_seed(s.seed))
    surrogate = Surrogate(run.mechanism, s.dt, transform, network)
    surrogate.fit_trust(torch.from_numpy(b.state()) for b in table.chunks(keep=~held_out))
    train_stage(
        run,
        0,
        surrogate,
        s.training,
        lambda numbers: write_json(record, {"inputs": inputs, **numbers}),
    )


def start_shipped(run: Run, name: str) -> None:
    """Take a model that comes with combred for the network of stage 0.

    It is trusted where these states are, for they are what its reductions are retrained on.
    The first process of torchrun does it alone; the others wait at the end of the step.
    """
    if not run.device.leads:
        return
    surrogate, table = shipped.load(name), run.states()
    held_out = table.held_out(run.settings.training.held_out, run.settings.seed)
    surrogate.narrow_trust(torch.from_numpy(b.state()) for b in table.chunks(keep=~held_out))
    loss = ValidationLoss(
        table, surrogate.transform, held_out, run.settings.training.loss, torch.device("cpu")
    )
    inputs = run.train_inputs(shipped=True)
    write_json(
        run.path("train.json"), {"inputs": inputs, "shipped": name, **loss(surrogate.network)}
    )
    forget_checkpoint(run.metrics(0))  # of a training that was not finished
    run.metrics(0).unlink(missing_ok=True)
    save_surrogate(run.weights(0), surrogate, run.mechanism)
    shown = shape(surrogate.network)
    say(run, f"stage 0: {shown}, {name}, which comes with combred; start=scratch trains one")


def train_stage(
    run: Run,
    stage: int,
    surrogate: Surrogate,
    settings: TrainingSettings,
    record: Callable[[dict], None],
) -> None:
    """Train a surrogate's network on the run's states and save it as the network of a stage.

    `record` stores the numbers of the training, before the network is saved: where there is a
    network, there are its numbers.
    """
    s, metrics, table = run.settings, run.metrics(stage), run.states()
    with progress(f"training stage {stage}", show=run.device.leads) as bar:
        numbers = training.train(
            surrogate.network,
            table,
            surrogate.transform,
            table.held_out(s.training.held_out, s.seed),
            settings,
            metrics,
            s.seed,
            run.device,
            bar,
            run.rollouts(surrogate, settings),
        )
    if run.device.leads:
        record(numbers)
        save_surrogate(run.weights(stage), surrogate, run.mechanism)
        forget_checkpoint(metrics)
    run.barrier()
    say(
        run,
        f"stage {stage}: {shape(surrogate.network)}, validation loss "
        f"{numbers['validation']:.4f}, {numbers['samples_per_second']:,.0f} samples/s",
    )
