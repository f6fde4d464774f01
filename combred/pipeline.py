"""The main way: `python -m combred.pipeline stage=2 key=value`.

Does what is missing and reuses what is there: sample, train (stage 0), reduce 1 to N, validate,
export, report. Stages are functions of data; this module gives each its input and a place for its
output.
"""

import logging
import shutil
import sys
import time
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, replace
from pathlib import Path

import torch
from rich.markup import escape

from combred import config, flame, ignition, shipped, timing, training
from combred.config import Settings
from combred.console import (
    complain,
    console,
    print_help,
    print_resolved,
    print_validation,
    progress,
    say,
    shape,
)
from combred.devices import open_device
from combred.export import export_torchscript, load_surrogate, make_card, save_surrogate
from combred.gated import reduce_to_gate
from combred.kinetics import Kinetics
from combred.mechanism import load_mechanism
from combred.network import Network, Surrogate, initialize
from combred.progress import forget_checkpoint
from combred.reactor import IntegrationError
from combred.records import digest, read_json, write_json
from combred.reduction import Stage, reduce_stage, stage_table
from combred.reduction.size import count_parameters
from combred.rollouts import read_flames, read_rollouts, write_flames, write_rollouts
from combred.rows import ValidationLoss, fit_transform
from combred.run import Run
from combred.sampling import sample
from combred.transform import make_transform
from combred.window_sampling import FlameStates, WindowSampler, sample_windows


def main(arguments: list[str]) -> int:
    """Run the pipeline; returns the exit status. What a user can mend prints one error."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print_help()
        return 0
    try:
        settings = config.resolve(arguments)
        execute(prepare(settings), settings.only)
        return 0
    except KeyboardInterrupt:
        console.print("[yellow]stopped.[/] The same command goes on from here.")
        return 130
    except (ValueError, FileNotFoundError, FloatingPointError, IntegrationError) as error:
        complain(str(error))
    except BrokenProcessPool:
        complain(
            "a process that runs CVODE was killed, for want of memory perhaps. What was finished "
            "is kept: run the same command again, with fewer workers=N if it happens again."
        )
    except OSError as error:
        free = shutil.disk_usage(Path.cwd()).free / 1e9
        complain(
            f"a file could not be written or read: {error}. The disk has {free:.1f} GB free. What "
            "was finished is kept: make room, then run the same command again."
        )
    return 2


def prepare(settings: Settings) -> Run:
    """Resolve what depends on mechanism and machine, and open the run folder."""
    mechanism = load_mechanism(settings.mechanism)
    fuel = mechanism.resolve_fuel(settings.sampling.fuel)
    settings = replace(settings, sampling=replace(settings.sampling, fuel=fuel))
    run = Run(settings, mechanism, Path("runs") / settings.run_name, open_device())
    mechanism.mixture(fuel, settings.sampling.oxidizer, 1.0)  # refuses what is no mixture
    if settings.network.kinetics:
        Kinetics(mechanism)  # refuses rates that it does not know, before anything is sampled
    if run.device.leads:
        run.folder.mkdir(parents=True, exist_ok=True)
        print_resolved(run)
    return run


def execute(run: Run, only: str = "") -> None:
    """All steps up to the stage asked for, or just `only`; prints the time of each."""
    everyone: dict[str, Callable[[Run], None]] = {"train": step_train, "reduce": step_reduce}
    steps: dict[str, Callable[[Run], None]] = {
        "sample": step_sample,
        **everyone,
        "validate": step_validate,
        "export": step_export,
        "report": step_report,
    }
    started = time.monotonic()
    for name, step in steps.items():
        if only in ("", name):
            begun = time.monotonic()
            if name in everyone or run.device.leads:
                step(run)
            run.barrier()
            say(run, f"  [dim]{name}: {time.monotonic() - begun:.1f} s[/]")
    unlit = not read_json(run.path("export.json")).get("all_ignite", True)
    if unlit and only in ("", "export"):
        say(run, "  [bold yellow]with the exported network some cases do not ignite[/]")
    say(run, f"[bold]done[/] in {time.monotonic() - started:.0f} s")
    for name in ("surrogate.pt", "report.html"):
        if run.path(name).exists():
            say(run, f"  {run.path(name)}")


def step_sample(run: Run) -> None:
    """states.h5 and sample.json; windows.h5, where a training of this run marches windows."""
    make_states(run)
    if run.rollout_steps:
        make_windows(run)


def make_windows(run: Run) -> None:
    """windows.h5, unless windows of these settings, and long enough, are there."""
    s, path, steps = run.settings, run.path("windows.h5"), run.rollout_steps
    if path.exists():
        windows = run.windows(1)
        if windows.steps >= steps:
            say(run, f"windows: {len(windows.states):,}, reused")
            return
    sampler = WindowSampler(run.mechanism, s.windows, s.sampling, s.chemistry, s.dt, steps)
    table = run.states()
    held_out = table.held_out(s.training.held_out, s.seed)
    flames = FlameStates.drawn(table, held_out, s.windows.flames, s.seed)
    with progress("integrating windows") as bar:
        numbers = sample_windows(
            path, sampler, s.seed, run.workers, flames, run.window_inputs(), bar
        )
    record = run.path("sample.json")
    write_json(record, {**read_json(record), "windows": numbers})
    say(
        run,
        f"windows: {numbers['windows']:,} of {steps} steps, {numbers['flames']:,} of them from "
        f"flames; {numbers['failed']} ignitions could not be integrated, {numbers['unlit']} did "
        "not ignite",
    )


def make_states(run: Run) -> None:
    """states.h5 and sample.json, unless states of these settings are there."""
    s = run.settings
    if run.path("states.h5").exists():
        table = run.states()
        if not run.path("sample.json").exists():
            write_json(run.path("sample.json"), {"lost_trajectories": [], **table.numbers()})
        run.path("states.partial.h5").unlink(missing_ok=True)
        say(run, f"states: {table.rows:,} rows, reused")
        return
    begun = time.monotonic()
    with progress("labelling states") as bar:
        numbers = sample(
            run.path("states.h5"),
            run.mechanism,
            s.sampling,
            s.chemistry,
            s.dt,
            s.seed,
            run.workers,
            bar,
        )
    numbers["seconds"] = time.monotonic() - begun
    write_json(run.path("sample.json"), numbers)
    say(run, f"states: {numbers['rows']:,} rows; {numbers['failed_rows']} could not be labelled")
    for lost in numbers["lost_trajectories"][:5]:
        say(run, f"  [yellow]lost:[/] {escape(lost)}")
    if numbers["failed_rows"] > 0.02 * numbers["rows"]:
        say(run, f"  [yellow]more than 2 % failed: see {run.path('sample.json')}[/]")


def step_train(run: Run) -> None:
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
    settings: config.TrainingSettings,
    record: Callable[[dict], None],
) -> None:
    """Train a surrogate's network on the run's states and save it as the network of a stage.

    `record` stores the numbers of the training, before the network is saved: where there is a
    network, there are its numbers.
    """
    metrics = run.metrics(stage)
    with progress(f"training stage {stage}", show=run.device.leads) as bar:
        numbers = training.train(
            surrogate.network,
            run.states(),
            surrogate.transform,
            settings,
            metrics,
            run.settings.seed,
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


def step_reduce(run: Run) -> None:
    """stageN.safetensors for every stage up to the one asked for, and reduce.json."""
    if run.settings.reduction.gate and run.settings.stage:
        reduce_to_gate(run)
        return
    for stage in stage_table(run.settings.reduction)[: run.settings.stage]:
        i = stage.index
        run.surrogate(i - 1)  # the stage before is there, and of these settings
        if run.weights(i).exists():
            shown = shape(run.surrogate(i).network)
            if run.device.leads:
                run.merged(i).unlink(missing_ok=True)
            say(run, f"stage {i}: {shown}, reused")
            continue
        known = run.reduction_entry(i).get("inputs") == run.reduce_inputs(i)
        if run.device.leads and not (known and run.merged(i).exists()):
            forget_checkpoint(run.metrics(i))
            merge_stage(run, stage)
        run.barrier()
        surrogate = load_surrogate(run.merged(i), run.mechanism)

        def record(numbers: dict, i: int = i) -> None:
            write_entry(run, i, {**run.reduction_entry(i), "retraining": numbers})

        train_stage(run, i, surrogate, run.retraining(i), record)
        if run.device.leads:
            run.merged(i).unlink()


def write_entry(run: Run, stage: int, entry: dict) -> None:
    """Put a stage's record into reduce.json; those of later stages stay."""
    entries = read_json(run.path("reduce.json")).get("stages", [])
    entries[stage - 1 : stage] = [entry]
    write_json(run.path("reduce.json"), {"stages": entries})


def merge_stage(run: Run, stage: Stage) -> None:
    """Reduce the previous stage's network; record what that did to the losses."""
    s, table = run.settings, run.states()
    surrogate = run.surrogate(stage.index - 1)
    held_out = table.held_out(s.training.held_out, s.seed)
    states = torch.from_numpy(table.draw(~held_out, s.reduction.calibration, s.seed))
    x = surrogate.transform.inputs(states)
    with torch.no_grad():
        full = count_parameters(run.surrogate(0).network)
        network, record = reduce_stage(surrogate.network, stage, s.reduction, x, full)
    loss = ValidationLoss(
        table, surrogate.transform, held_out, s.retraining.loss, torch.device("cpu")
    )
    record["validation_before"] = loss(surrogate.network)["validation"]
    record["validation_merged"] = loss(network)["validation"]
    surrogate.network = network
    write_entry(run, stage.index, {"inputs": run.reduce_inputs(stage.index), **record})
    save_surrogate(run.merged(stage.index), surrogate, run.mechanism)
    say(
        run,
        f"stage {stage.index}: {stage.what}: {shape(network)}",
    )


def step_validate(run: Run) -> None:
    """Rollouts and flames of every stage against CVODE, and the time per state: validation.h5,
    flames.h5 and validation.json."""
    surrogates = {stage: run.surrogate(stage) for stage in range(run.settings.stage + 1)}
    networks = {f"stage{stage}": digest(run.weights(stage)) for stage in surrogates}
    stored, stored_inputs = read_rollouts(run.path("validation.h5"), run.mechanism)
    numbers, inputs = read_json(run.path("validation.json")), run.validate_inputs()
    known = numbers.get("inputs") == stored_inputs == inputs and numbers["networks"] == networks
    if known and numbers.get("flame_inputs", {}) == run.flame_inputs():
        say(run, "validation: reused")
        print_validation(numbers)
        return
    if not known:
        if stored_inputs == inputs:
            references = stored["cvode"]
        else:
            references = by_cvode(run, "CVODE rollouts", ignition.reference)
        numbers = {"inputs": inputs, "networks": networks}
        numbers |= validate_ignitions(run, surrogates, references)
    flames = validate_flames(run, surrogates, networks) if run.flame_inputs() else {}
    for name, result in numbers["stages"].items():
        result.pop("flame", None)
        result |= {"flame": flames[name]} if flames else {}
    numbers["flame_inputs"] = run.flame_inputs()
    write_json(run.path("validation.json"), numbers)
    print_validation(numbers)


def validate_ignitions(
    run: Run, surrogates: dict[int, Surrogate], references: list[ignition.Rollout]
) -> dict:
    """validation.h5; the errors of each stage's rollouts ("stages") and the times ("timing")."""
    s, mechanism, table = run.settings, run.mechanism, run.states()
    states = table.draw(table.samplers % 3 == 0, 4096, s.seed)
    rollouts, results = {"cvode": references}, {}
    for stage, surrogate in surrogates.items():
        name = f"stage{stage}"
        with progress(f"rollouts of stage {stage}") as bar, timing.one_thread():
            advance = timing.scripted(surrogate)
            rollouts[name] = ignition.follow(advance, s.dt, references, bar)
        results[name] = ignition.compare(mechanism, rollouts[name], references)
        results[name]["weights"] = surrogate.network.n_weights
        results[name]["widths"] = surrogate.network.widths
    write_rollouts(run.path("validation.h5"), rollouts, mechanism, run.validate_inputs())
    with progress("time per state") as bar:
        times = timing.compare_times(mechanism, surrogates, s.chemistry, states, on_progress=bar)
    return {"stages": results, "timing": times}


def validate_flames(run: Run, surrogates: dict[int, Surrogate], networks: dict[str, str]) -> dict:
    """flames.h5, written after every stage; the errors of each stage's flames, by stage. Flames of
    the same settings, and of the same network, are not marched again."""
    s, mechanism, file = run.settings, run.mechanism, run.path("flames.h5")
    stored, told = read_flames(file, mechanism)
    inputs = {"cases": run.flame_inputs(), "networks": {}}
    flames = {}
    if told.get("cases") == inputs["cases"]:
        inputs["networks"] = {k: v for k, v in told["networks"].items() if networks.get(k) == v}
        flames = {name: stored[name] for name in ("cvode", *inputs["networks"])}
    else:
        flames["cvode"] = by_cvode(run, "CVODE flames", flame.reference)
        write_flames(file, flames, mechanism, inputs)
    for stage, surrogate in surrogates.items():
        name = f"stage{stage}"
        if name in flames:
            continue
        with progress(f"flames of stage {stage}") as bar:
            advance = timing.scripted(surrogate)
            flames[name] = flame.follow(
                mechanism, advance, s.dt, flames["cvode"], s.validation, bar
            )
        inputs["networks"][name] = networks[name]
        write_flames(file, flames, mechanism, inputs)
    return {name: flame.compare(mechanism, flames[name], flames["cvode"]) for name in networks}


def by_cvode(run: Run, title: str, reference: Callable[..., list]) -> list:
    """CVODE's answer to the cases of the settings: `ignition.reference`, or `flame.reference`."""
    s = run.settings
    with progress(title) as bar:
        return reference(
            run.mechanism,
            s.validation,
            s.chemistry,
            s.dt,
            s.sampling.fuel,
            s.sampling.oxidizer,
            run.workers,
            bar,
        )


def step_export(run: Run) -> None:
    """surrogate.pt, surrogate.json (its card) and export.json."""
    s = run.settings
    surrogate = run.surrogate(s.stage)
    validation = read_json(run.path("validation.json"))
    measured = validation.get("stages", {}).get(f"stage{s.stage}")
    judged = validation.get("networks", {}).get(f"stage{s.stage}")
    if measured is None or judged != digest(run.weights(s.stage)):
        raise FileNotFoundError(
            f"stage {s.stage} has not been validated: run `python -m combred.pipeline "
            f"stage={s.stage} only=validate`; a network is exported with its measured accuracy"
        )
    wanted = ("all_ignite", "delay_error", "worst_case", "burnt_T_error", "peak_errors")
    accuracy = {key: measured[key] for key in wanted} | {"measured_on": validation["inputs"]}
    table = run.states()
    made = {
        "states": table.rows,
        "made_with": table.provenance,
        "stage": s.stage,
        "profile": s.profile,
        "start": start_in_words(run),
    }
    card = make_card(surrogate, run.mechanism, accuracy, made)
    check = table.draw(table.held_out(s.training.held_out, s.seed), 512, s.seed)
    numbers = export_torchscript(run.path("surrogate.pt"), surrogate, card, check)
    network = {"widths": surrogate.network.widths, "weights": surrogate.network.n_weights}
    network["all_ignite"] = measured["all_ignite"]
    write_json(run.path("export.json"), {"stage": s.stage, **network, **numbers})
    say(
        run,
        f"export: {run.path('surrogate.pt')}, {numbers['bytes'] / 1e6:.2f} MB, agrees with "
        f"the eager model within {numbers['largest_difference']:.1e}",
    )


def start_in_words(run: Run) -> str:
    """How the network of stage 0 came to be, for the card."""
    name = read_json(run.path("train.json")).get("shipped")
    if not name:
        return "stage 0 was trained on these states"
    return f"stage 0 is {name}, which comes with combred; its card tells how that was trained"


def step_report(run: Run) -> None:
    """report.html, report.md and figures/."""
    from combred.report import write_report  # matplotlib is slow to import

    for stage in range(run.settings.stage + 1):
        run.surrogate(stage)  # of these settings, which the report tells
    write_json(run.path("settings.json"), asdict(run.settings))
    write_report(run.folder, run.mechanism)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
