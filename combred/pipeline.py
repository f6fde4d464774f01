"""The main way: `python -m combred.pipeline stage=2 key=value`.

Runs what is missing and reuses what is there: sample, train (stage 0), reduce 1 to N, validate,
export, report. The only module that knows paths, prints, and configures logging.
"""

import json
import logging
import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from combred import config, ignition, training
from combred.config import Settings
from combred.export import (
    export_torchscript,
    load_surrogate,
    make_card,
    save_surrogate,
    write_json,
)
from combred.mechanism import Mechanism, load_mechanism
from combred.network import Network, Surrogate, initialize
from combred.reactor import CVODE, IntegrationError
from combred.reduction import reduce_layer, stage_table
from combred.rollouts import read_rollouts, write_rollouts
from combred.sampling import sample
from combred.states import StateTable, open_states
from combred.timing import time_per_state
from combred.transform import StateTransform

console = Console(highlight=False)
FUELS = ("CH4", "H2", "C2H4", "C2H6", "C3H8", "NH3")


@dataclass(frozen=True)
class Run:
    """A run: its settings, its mechanism, its folder, and the device it trains on."""

    settings: Settings
    mechanism: Mechanism
    folder: Path
    device: training.Device

    def path(self, name: str) -> Path:
        return self.folder / name

    def weights(self, stage: int) -> Path:
        return self.path(f"stage{stage}.safetensors")

    def merged(self, stage: int) -> Path:
        return self.path(f"stage{stage}.merged.safetensors")

    def metrics(self, stage: int) -> Path:
        return self.path(f"stage{stage}.jsonl")

    def states(self) -> StateTable:
        return open_states(self.path("states.h5"), self.mechanism, self.settings.dt)

    def surrogate(self, stage: int) -> Surrogate:
        return load_surrogate(self.weights(stage), self.mechanism)

    @property
    def workers(self) -> int:
        return self.settings.workers or len(os.sched_getaffinity(0))


def main(arguments: list[str]) -> int:
    """Run the pipeline; returns the exit status. Expected failures print one error, no traceback."""
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
        return _complain(str(error))
    except OSError as error:
        free = shutil.disk_usage(Path.cwd()).free / 1e9
        return _complain(
            f"a file could not be written or read: {error}. The disk has {free:.1f} GB free. What was "
            "finished is kept: make room, then run the same command again."
        )


def _complain(message: str) -> int:
    console.print(f"[bold red]error:[/] {message}", markup=True, soft_wrap=True)
    return 2


# -- preparation ---------------------------------------------------------------------------------


def prepare(settings: Settings) -> Run:
    """Resolve what depends on mechanism and machine, and open the run folder."""
    mechanism = load_mechanism(settings.mechanism)
    device = training.open_device()
    settings = replace(
        settings,
        sampling=replace(settings.sampling, fuel=resolve_fuel(settings.sampling.fuel, mechanism)),
    )
    folder = Path("runs") / settings.run_name
    run = Run(settings, mechanism, folder, device)
    if device.leads:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(run.path("settings.json"), asdict(settings))
        _print_resolved(run)
    return run


def resolve_fuel(fuel: str, mechanism: Mechanism) -> str:
    """The fuel that "auto" stands for; a given one is checked against the mechanism."""
    if fuel != "auto":
        for part in fuel.split(","):
            mechanism.index(part.split(":")[0].strip())
        return fuel
    for name in FUELS:
        if name in mechanism.species_names:
            return f"{name}:1"
    raise ValueError(
        f"{mechanism.name} has none of {', '.join(FUELS)}: name the fuel, as in sampling.fuel=CH3OH:1"
    )


def _print_resolved(run: Run) -> None:
    s, m = run.settings, run.mechanism
    precision, reason = training.resolve_precision(s.training.precision, run.device.device)
    widths = "-".join(map(str, [2 + m.n_species, *s.network.hidden, 2 + m.n_species]))
    console.print(f"[bold]combred[/] run {run.folder}, profile {s.profile}, stage {s.stage}")
    console.print(
        f"  {m.name}: {m.n_species} species, fuel {s.sampling.fuel}, oxidizer {s.sampling.oxidizer}, "
        f"dt {s.dt:g} s, CVODE rtol {s.chemistry.rtol:g} atol {s.chemistry.atol:g}\n"
        f"  network {widths} on {run.device.device} ({torch.get_num_threads()} threads), "
        f"precision {precision}: {reason}\n"
        f"  {run.workers} workers label states, seed {s.seed}"
    )


# -- the steps -----------------------------------------------------------------------------------


def execute(run: Run, only: str = "") -> None:
    """All steps up to the stage asked for, or just `only`."""
    steps: dict[str, Callable[[Run], None]] = {
        "sample": step_sample,
        "train": step_train,
        "reduce": step_reduce,
        "validate": step_validate,
        "export": step_export,
        "report": step_report,
    }
    started = time.monotonic()
    for name, step in steps.items():
        if only in ("", name):
            if name in ("train", "reduce") or run.device.leads:
                begun = time.monotonic()
                step(run)
                if run.device.leads:
                    console.print(f"  [dim]{name}: {time.monotonic() - begun:.1f} s[/]")
            _barrier(run)
    if run.device.leads:
        console.print(f"[bold]done[/] in {time.monotonic() - started:.0f} s")
        for name in ("surrogate.pt", "report.html"):
            if run.path(name).exists():
                console.print(f"  {run.path(name)}")


def step_sample(run: Run) -> None:
    """states.h5 and sample.json."""
    s = run.settings
    wanted = {
        "mechanism": run.mechanism.sha256,
        "dt": s.dt,
        "seed": s.seed,
        "chemistry": asdict(s.chemistry),
        "sampling": asdict(s.sampling),
    }
    if run.path("states.h5").exists():
        table = run.states()
        _require_same(run, "sample.json", wanted, "states.h5")
        console.print(f"states: {table.rows} rows, reused")
        return
    with _progress("labelling states") as bar:
        begun = time.monotonic()
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
    write_json(
        run.path("sample.json"),
        {"settings": wanted, "seconds": time.monotonic() - begun, **numbers},
    )
    console.print(f"states: {numbers['rows']} rows, {numbers['failed_rows']} could not be labelled")
    for lost in numbers["lost_trajectories"][:5]:
        console.print(f"  [yellow]lost:[/] {lost}")
    if numbers["failed_rows"] > 0.02 * numbers["rows"]:
        console.print("  [yellow]over 2 % of the states could not be labelled; see sample.json[/]")


def step_train(run: Run) -> None:
    """stage0.safetensors, stage0.jsonl and train.json."""
    s = run.settings
    wanted = {"network": asdict(s.network), "training": asdict(s.training)}
    if run.weights(0).exists():
        _require_same(run, "train.json", wanted, run.weights(0).name)
        _say(run, f"stage 0: {_shape(run.surrogate(0).network)}, reused")
        return
    _require_same(run, "train.json", wanted, training.checkpoint_of(run.metrics(0)).name)
    if run.device.leads:
        write_json(run.path("train.json"), {"settings": wanted})
    table = run.states()
    held_out = table.held_out(s.training.held_out, s.seed)
    n = 2 + run.mechanism.n_species
    transform = StateTransform(
        run.mechanism.n_species, s.network.boxcox, s.network.floor, s.network.power
    )
    training.fit_transform(transform, table, held_out)
    network = Network([n, *s.network.hidden, n])
    initialize(network, s.network.layer_scales, torch.Generator().manual_seed(s.seed))
    surrogate = Surrogate(run.mechanism, s.dt, transform, network)
    surrogate.fit_trust(
        training.as_states(block)[0][~held_out[start : start + len(block)]]
        for start, block in _with_start(table)
        if not held_out[start : start + len(block)].all()
    )
    numbers = _train(run, 0, surrogate, s.training)
    if run.device.leads:
        write_json(run.path("train.json"), {"settings": wanted, **numbers})


def _train(run: Run, stage: int, surrogate: Surrogate, settings: config.TrainingSettings) -> dict:
    """Train a surrogate's network on the run's states and save it as the network of a stage."""
    metrics = run.metrics(stage)
    with _progress(f"training stage {stage}", show=run.device.leads) as bar:
        numbers = training.train(
            surrogate.network,
            run.states(),
            surrogate.transform,
            settings,
            metrics,
            run.settings.seed + stage,
            run.device,
            bar,
        )
    if run.device.leads:
        save_surrogate(run.weights(stage), surrogate, run.mechanism)
        training.forget_checkpoint(metrics)
    _barrier(run)
    _say(
        run,
        f"stage {stage}: {_shape(surrogate.network)}, validation loss "
        f"{numbers['validation']:.4f}, {numbers['samples_per_second']:.0f} samples/s",
    )
    return numbers


def step_reduce(run: Run) -> None:
    """stageN.safetensors for every stage up to the one asked for, and reduce.json."""
    s = run.settings
    for stage in stage_table(s.reduction)[: s.stage]:
        wanted = _reduction_settings(s, stage.index)
        records = _read(run.path("reduce.json")).get("stages", [])
        previous = records[stage.index - 1]["settings"] if len(records) >= stage.index else wanted
        _refuse_difference(previous, json.loads(json.dumps(wanted)), run, f"stage {stage.index}")
        if run.weights(stage.index).exists():
            _say(run, f"stage {stage.index}: {_shape(run.surrogate(stage.index).network)}, reused")
            continue
        if not run.merged(stage.index).exists() and run.device.leads:
            _merge(run, stage, wanted, records[: stage.index - 1])
        _barrier(run)
        surrogate = load_surrogate(run.merged(stage.index), run.mechanism)
        numbers = _train(run, stage.index, surrogate, _retraining(s, stage.index))
        if run.device.leads:
            records = _read(run.path("reduce.json"))["stages"]
            records[stage.index - 1]["retraining"] = numbers
            write_json(run.path("reduce.json"), {"stages": records})
            run.merged(stage.index).unlink()


def _reduction_settings(s: Settings, stage: int) -> dict:
    """What the network of a stage depends on, beyond the one before it."""
    r = s.reduction
    return {
        "layer": r.layers[stage - 1],
        "threshold": r.thresholds[stage - 1],
        "compensation": r.compensation,
        "ridge": r.ridge,
        "calibration": r.calibration,
        "retraining": asdict(_retraining(s, stage)),
    }


def _retraining(s: Settings, stage: int) -> config.TrainingSettings:
    rates = s.reduction.rates
    return replace(s.retraining, lr=rates[stage - 1]) if rates else s.retraining


def _merge(run: Run, stage, wanted: dict, records: list[dict]) -> None:
    """Condense one layer of the previous stage's network; record what that did to the losses."""
    s = run.settings
    surrogate = run.surrogate(stage.index - 1)
    table = run.states()
    held_out = table.held_out(s.training.held_out, s.seed)
    states = draw_states(table, ~held_out, s.reduction.calibration, s.seed)
    x = surrogate.transform.features(surrogate.transform.variables(states)).float()
    with torch.no_grad():
        network, record = reduce_layer(surrogate.network, stage, s.reduction, x)
    loss = training.ValidationLoss(
        table, surrogate.transform, held_out, s.retraining.loss, torch.device("cpu")
    )
    record["validation_before"] = loss(surrogate.network)["validation"]
    record["validation_after_merge"] = loss(network)["validation"]
    surrogate.network = network
    _say(run, f"stage {stage.index}: layer {stage.layer} at {stage.threshold}: {_shape(network)}")
    write_json(run.path("reduce.json"), {"stages": [*records, {"settings": wanted, **record}]})
    save_surrogate(run.merged(stage.index), surrogate, run.mechanism)


def step_validate(run: Run) -> None:
    """Rollouts of every stage against CVODE, and the time per state: validation.h5 and .json."""
    s, mechanism = run.settings, run.mechanism
    stages = range(s.stage + 1)
    wanted = json.loads(
        json.dumps(
            {
                "validation": asdict(s.validation),
                "chemistry": asdict(s.chemistry),
                "dt": s.dt,
                "fuel": s.sampling.fuel,
                "oxidizer": s.sampling.oxidizer,
            }
        )
    )
    surrogates = {stage: run.surrogate(stage) for stage in stages}
    identities = {f"stage{i}": _digest(run.weights(i)) for i in stages}
    old = _read(run.path("validation.json"))
    if old.get("settings") == wanted and old.get("networks") == identities:
        _say(run, "validation: reused")
        _print_validation(old)
        return
    stored = read_rollouts(run.path("validation.h5"), mechanism)
    if old.get("settings") == wanted and "cvode" in stored:
        references = stored["cvode"]
    else:
        with _progress("CVODE rollouts") as bar:
            references = ignition.reference(
                mechanism,
                s.validation,
                s.chemistry,
                s.dt,
                s.sampling.fuel,
                s.sampling.oxidizer,
                run.workers,
                bar,
            )
    rollouts = {"cvode": references}
    results = {}
    for stage, surrogate in surrogates.items():
        with _progress(f"rollouts of stage {stage}") as bar:
            rollouts[f"stage{stage}"] = ignition.follow(surrogate.advance, s.dt, references, bar)
        result = ignition.compare(mechanism, rollouts[f"stage{stage}"], references)
        result["weights"] = surrogate.network.n_weights
        result["widths"] = surrogate.network.widths
        results[f"stage{stage}"] = result
    write_rollouts(run.path("validation.h5"), rollouts, mechanism)
    with _progress("time per state") as bar:
        timing = measure_times(run, surrogates, bar)
    numbers = {"settings": wanted, "networks": identities, "stages": results, "timing": timing}
    write_json(run.path("validation.json"), numbers)
    _print_validation(numbers)


def measure_times(run: Run, surrogates: dict[int, Surrogate], bar) -> dict:
    """Time per state of CVODE (labels' tolerance, and 1e-6) and of each stage, one core each."""
    s = run.settings
    table = run.states()
    states = draw_states(table, table.samplers % 3 == 0, 4096, s.seed).numpy()
    loose = 1e-6, 1e-10
    advances = {
        f"CVODE rtol {s.chemistry.rtol:g} atol {s.chemistry.atol:g}": (
            CVODE(run.mechanism, s.dt, s.chemistry.rtol, s.chemistry.atol),
            256,
        ),
        f"CVODE rtol {loose[0]:g} atol {loose[1]:g}": (CVODE(run.mechanism, s.dt, *loose), 256),
    }
    for stage, surrogate in surrogates.items():
        advances[f"stage {stage}"] = (_scripted(surrogate), len(states))
        advances[f"stage {stage}, network alone"] = (_network_alone(surrogate, states), len(states))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        times = time_per_state(advances, states, on_progress=bar)
    finally:
        torch.set_num_threads(threads)
    return {
        "cores": 1,
        "machine": _machine(),
        "states": "exact states of the state file",
        "times": times,
    }


def step_export(run: Run) -> None:
    """surrogate.pt, surrogate.json (its card) and export.json."""
    s = run.settings
    surrogate = run.surrogate(s.stage)
    validation = _read(run.path("validation.json"))
    measured = validation.get("stages", {}).get(f"stage{s.stage}")
    if measured is None:
        raise FileNotFoundError(
            f"stage {s.stage} has not been validated: run `python -m combred.pipeline stage={s.stage} "
            "only=validate`; a network is exported with its measured accuracy"
        )
    accuracy = {
        k: measured[k]
        for k in ("delay_error", "worst_case", "burnt_T_error", "peak_errors", "all_ignite")
    }
    accuracy["measured_on"] = validation["settings"]
    table = run.states()
    held_out = table.held_out(s.training.held_out, s.seed)
    made = {
        "states": table.rows,
        "cvode_rtol": s.chemistry.rtol,
        "cvode_atol": s.chemistry.atol,
        "fuel": s.sampling.fuel,
        "oxidizer": s.sampling.oxidizer,
        "seed": s.seed,
        "stage": s.stage,
        "profile": s.profile,
    }
    card = make_card(surrogate, run.mechanism, accuracy, made)
    check = draw_states(table, held_out, 512, s.seed).numpy()
    numbers = export_torchscript(run.path("surrogate.pt"), surrogate, card, check)
    write_json(
        run.path("export.json"),
        {
            "stage": s.stage,
            "widths": surrogate.network.widths,
            "weights": surrogate.network.n_weights,
            **numbers,
        },
    )
    console.print(
        f"export: surrogate.pt, {numbers['bytes'] / 1e6:.2f} MB, "
        f"agrees with the eager model within {numbers['largest_difference']:.1e}"
    )


def step_report(run: Run) -> None:
    """report.html, report.md and figures/."""
    from combred.report import write_report  # matplotlib is slow to import

    write_report(run.folder, run.mechanism)
    console.print(f"report: {run.path('report.html')}")


# -- small things --------------------------------------------------------------------------------


def draw_states(table: StateTable, keep: np.ndarray, count: int, seed: int) -> torch.Tensor:
    """`count` states [T, p, Y] (or all there are) drawn from the rows of `keep`, in row order."""
    rows = np.flatnonzero(keep)
    rng = np.random.default_rng([seed, 5])
    rows = np.sort(rng.choice(rows, min(count, len(rows)), replace=False))
    parts = []
    for start, block in _with_start(table):
        inside = rows[(rows >= start) & (rows < start + len(block))] - start
        parts.append(training.as_states(block)[0][inside])
    return torch.cat(parts)


def _with_start(table: StateTable):
    start = 0
    for block in table.chunks():
        yield start, block
        start += len(block)


def _scripted(surrogate: Surrogate):
    """The surrogate as an `Advance`, as a CFD code runs it: TorchScript, frozen."""
    module = torch.jit.freeze(torch.jit.script(surrogate.eval()))

    def advance(T, p, Y):
        with torch.no_grad():
            out = module(torch.as_tensor(np.column_stack([T, p, Y]))).numpy()
        return out[:, 0], out[:, 2:]

    return advance


def _network_alone(surrogate: Surrogate, states: np.ndarray):
    """Only the network's products, on the features of `states`: what the papers time. It gives back
    the states it was given."""
    transform, network = surrogate.transform, surrogate.network
    x = transform.features(transform.variables(torch.as_tensor(states))).float()

    def advance(T, p, Y):
        with torch.no_grad():
            network(x[: len(T)])
        return T, Y

    return advance


def _require_same(run: Run, record: str, wanted: dict, artefact: str) -> None:
    """ValueError if `record` says that the artefact was made with other settings."""
    stored = _read(run.path(record)).get("settings")
    if stored is not None:
        _refuse_difference(stored, json.loads(json.dumps(wanted)), run, artefact)


def _refuse_difference(stored: dict, wanted: dict, run: Run, artefact: str) -> None:
    differing = [f"{path}: {a!r} then, {b!r} now" for path, a, b in _differences(stored, wanted)]
    if differing:
        raise ValueError(
            f"{run.folder}/{artefact} was made with other settings ({'; '.join(differing[:4])}). "
            f"Give those again, delete {run.folder}, or name another run with run=NAME."
        )


def _differences(a, b, path: str = ""):
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(a.keys() | b.keys()):
            yield from _differences(a.get(key), b.get(key), f"{path}.{key}".lstrip("."))
    elif a != b:
        yield path, a, b


def _read(path: Path) -> dict:
    """A JSON file, or {} if there is none."""
    if not path.exists():
        return {}
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path} is not JSON ({error}): delete it and run again") from error


def _digest(path: Path) -> str:
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _shape(network: Network) -> str:
    return f"{'-'.join(map(str, network.widths))} ({network.n_weights:,} weights)"


def _machine() -> str:
    import platform

    info = Path("/proc/cpuinfo")
    names = (
        [
            line.split(":", 1)[1].strip()
            for line in info.read_text().splitlines()
            if line.startswith("model name")
        ]
        if info.exists()
        else []
    )
    return f"{names[0] if names else platform.processor()}, {os.cpu_count()} cores"


def _say(run: Run, message: str) -> None:
    if run.device.leads:
        console.print(message)


def _barrier(run: Run) -> None:
    if run.device.world > 1:
        torch.distributed.barrier()


@contextmanager
def _progress(title: str, show: bool = True):
    """A progress bar as a callback (done, total, note)."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=console, disable=not show, transient=True) as progress:
        task = progress.add_task(title, total=None, note="")

        def update(done: int, total: int, note: str = "") -> None:
            progress.update(task, completed=done, total=total, **({"note": note} if note else {}))

        yield update


def _print_validation(numbers: dict) -> None:
    table = Table(title="ignition against CVODE", title_justify="left")
    for name in (
        "stage",
        "widths",
        "weights",
        "delay error median",
        "worst",
        "worst case",
        "burnt T error",
        "time per state",
    ):
        table.add_column(
            name, justify="left" if name in ("stage", "widths", "worst case") else "right"
        )
    times = numbers["timing"]["times"]
    for name, time_ in times.items():
        if name.startswith("CVODE"):
            table.add_row(name, "", "", "", "", "", "", f"{1e6 * time_['median']:.1f} us")
    for name, r in numbers["stages"].items():
        own = times.get(name.replace("stage", "stage "), {}).get("median", float("nan"))
        table.add_row(
            name,
            "-".join(map(str, r["widths"])),
            f"{r['weights']:,}",
            f"{100 * r['delay_error']['median']:.2f} %",
            f"{100 * r['delay_error']['worst']:.2f} %",
            r["worst_case"],
            f"{r['burnt_T_error']['worst']:.1f} K",
            f"{1e6 * own:.1f} us",
        )
    console.print(table)


def print_help() -> None:
    """Stages and settings with defaults and units."""
    console.print("[bold]python -m combred.pipeline stage=N key=value ...[/]\n")
    console.print("Gives the network after the N-th condensation, validated and exported.\n")
    s = Settings()
    console.print(
        f"  stage 0  23-{'-'.join(map(str, s.network.hidden))}-23 for drm19.yaml, trained"
    )
    for stage in stage_table(s.reduction):
        console.print(
            f"  stage {stage.index}  hidden layer {stage.layer} condensed at {stage.threshold}, retrained"
        )
    table = Table(title="\nsettings", title_justify="left", box=None)
    for name in ("key", "default", "unit", "what"):
        table.add_column(name)
    for key, item in config.keys().items():
        value = s
        for part in key.split("."):
            value = getattr(value, part)
        table.add_row(
            key, str(value).replace("[", "\\["), item.metadata["unit"], item.metadata["help"]
        )
    console.print(table)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
