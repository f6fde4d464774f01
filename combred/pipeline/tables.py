"""What the pipeline shows of a run: its settings, the table of its stages, the help."""

from pathlib import Path

import torch
from rich.markup import escape
from rich.table import Table

from combred import config
from combred.chemistry.mechanism import Mechanism
from combred.config import Settings
from combred.pipeline.console import console
from combred.pipeline.stages import stage_table
from combred.surrogate.network import Network
from combred.training.devices import fastest_precision, open_device


def shape(network: Network) -> str:
    """Widths and size of a network, for people."""
    return f"{'-'.join(map(str, network.widths))} ({network.n_weights:,} weights)"


def print_resolved(s: Settings, m: Mechanism, folder: Path, workers: int) -> None:
    """The settings that depend on mechanism and machine, as resolved, with the reason."""
    device = open_device()
    precision, reason = fastest_precision(device)
    hidden = "-".join(map(str, s.network.hidden))
    does = "sees the state alone"
    if s.network.kinetics:
        does = "corrects quasi-steady-state (QSS) steps"
    low, high = s.sampling.dt
    dt = f"{low:g} s" if low == high else f"{low:g} to {high:g} s"
    console.print(f"[bold]combred[/] run {folder}, profile {s.profile}, stage {s.stage}")
    console.print(
        f"  {m.name}: {m.n_species} species, fuel {s.sampling.fuel}, oxidizer "
        f"{s.sampling.oxidizer}, dt {dt}"
    )
    console.print(
        f"  network of {hidden} hidden units, which {does}, on {device}, "
        f"{torch.get_num_threads()} threads, precision {precision}: {reason}"
    )
    console.print(f"  {workers} processes, seed {s.seed}")


def print_validation(numbers: dict) -> None:
    """The table of stages of validation.json."""
    table = Table(title="ignition delay against CVODE", title_justify="left", box=None)
    left = ("", "worst case")
    for name in ("", "weights", "median", "worst", "worst case", "burnt T", "time per state"):
        table.add_column(name, justify="left" if name in left else "right", no_wrap=True)
    times = numbers["timing"]["times"]
    for name, took in times.items():
        if not name.startswith("stage"):
            of = numbers["solver"]["delay_error"] if name.startswith("solver") else None
            delay = [f"{100 * of[key]:.2f} %" for key in ("median", "worst")] if of else ["", ""]
            table.add_row(name, "", *delay, "", "", f"{1e6 * took['median']:.1f} us")
    for name, result in numbers["stages"].items():
        took = times[name.replace("stage", "stage ")]["median"]
        delay = result["delay_error"]
        table.add_row(
            "-".join(map(str, result["widths"])),
            f"{result['weights']:,}",
            f"{100 * delay['median']:.2f} %",
            f"{100 * delay['worst']:.2f} %",
            result["worst_case"],
            f"{result['burnt_T_error']['worst']:.1f} K",
            f"{1e6 * took:.1f} us",
        )
    console.print(table)
    for name, result in numbers["stages"].items():
        if "flame" in result:
            flames, speed = result["flame"], result["flame"]["speed_error"]
            burn = sum(row["burns"] for row in flames["cases"])
            console.print(
                f"{name}: {burn} of {len(flames['cases'])} flames burn; speed error median "
                f"{100 * speed['median']:.2f} %, worst {100 * speed['worst']:.2f} % "
                f"({flames['worst_case']})"
            )
        if "stirred" in result:
            console.print(f"{name}: {stirred_in_words(result['stirred'])}")


def stirred_in_words(rows: list[dict]) -> str:
    """The largest differences from the reference in the stirred reactors of a stage."""
    worst = {key: max(row["errors"][key]["largest"] for row in rows) for key in rows[0]["errors"]}
    differences = ", ".join(f"{key} {100 * value:.2f} %" for key, value in worst.items())
    number = f"{len(rows)} stirred reactor{'s' if len(rows) > 1 else ''}"
    return f"{number}; largest difference of the means: {differences}"


def print_help(settings: Settings) -> None:
    """The stages, and the settings grouped by step, with the values of a profile."""
    profile = settings.profile
    console.print("[bold]python -m combred.pipeline stage=N key=value ...[/]\n")
    console.print("Gives the network after the N-th reduction, validated and exported.\n")
    hidden = "-".join(map(str, settings.network.hidden))
    console.print(f"  stage 0  hidden layers {hidden}, trained here or shipped (start)")
    for stage in stage_table(settings.reduction):
        console.print(f"  stage {stage.index}  {stage.what}, retrained")
    console.print(f"\n  profiles: {', '.join(config.PROFILES)}; here: {profile}")
    console.print("  `profile=NAME --help` prints the values of another\n")
    items, usual = config.keys(), config.Settings()
    for section in dict.fromkeys(key.rpartition(".")[0] for key in items):
        title = section or "the run"
        table = Table(title=title, title_justify="left", title_style="bold", box=None)
        for name in ("key", "value", "unit", "meaning"):
            table.add_column(name, overflow="fold", no_wrap=name == "key")
        for key, item in items.items():
            if key.rpartition(".")[0] != section:
                continue
            value = config.value_of(settings, key)
            shown = "(none)" if value == "" else escape(str(value))
            if value != config.value_of(usual, key):
                shown = f"[bold]{shown}[/]"
            table.add_row(key, shown, item.metadata["unit"], escape(item.metadata["help"]))
        console.print(table)
        console.print()
    if profile != "default":
        console.print(f"[bold]bold[/]: of the profile {profile}, not the default")
