"""What the pipeline shows of a run: its settings, the table of its stages, the help."""

import shutil
from pathlib import Path

import torch
from rich.markup import escape
from rich.table import Table

from combred.chemistry.mechanism import Mechanism
from combred.config.command import keys, value_of
from combred.config.profiles import PROFILES
from combred.config.settings import Settings
from combred.pipeline.console import console, marked, show
from combred.pipeline.stages import stage_table
from combred.report.formats import shape as widths
from combred.report.formats import span
from combred.report.verdict import comparison, further, sentence
from combred.surrogates.model.network import Network
from combred.surrogates.training.devices import fastest_precision, open_device

EXAMPLES = {
    "stage=2": "the network reduced twice, in a few minutes",
    "profile=smoke": "every step in a minute, without accuracy",
    "stage=1 reduction.criteria=ignition:1%": "the smallest network that keeps a limit",
    "mechanism=h2o2.yaml run=hydrogen": "another mechanism, trained here",
}  # whose names of runs differ


def shape(network: Network) -> str:
    """Widths and size of a network, for people."""
    return f"{widths(network.widths)} ({network.n_weights:,} weights)"


def print_resolved(s: Settings, m: Mechanism, folder: Path, workers: int) -> None:
    """The settings that depend on mechanism and machine, as resolved, with the reason."""
    device = open_device()
    precision, reason = fastest_precision(device)
    does = "sees the state alone"
    if s.network.kinetics:
        does = "corrects quasi-steady-state (QSS) steps"
    console.print(f"[bold]combred[/] run {folder}, profile {s.profile}, stage {s.stage}")
    console.print(
        f"  {m.name}: {m.n_species} species, fuel {s.sampling.fuel}, oxidizer "
        f"{s.sampling.oxidizer}, dt {span(s.sampling.dt)} s"
    )
    console.print(
        f"  network of {widths(s.network.hidden)} hidden units, which {does}, on {device}, "
        f"{torch.get_num_threads()} threads, precision {precision}: {reason}"
    )
    console.print(f"  {workers} processes, seed {s.seed}")


def print_validation(numbers: dict) -> None:
    """What report.html says first of the numbers of validation.json."""
    show(comparison(numbers), "largest errors")
    console.print(f"  {marked(sentence(numbers))}\n  {marked(further(numbers))}")


def print_help(settings: Settings) -> None:
    """The stages, and the settings grouped by step, with the values of a profile."""
    profile = settings.profile
    console.print("[bold]python -m combred.pipeline stage=N key=value ...[/]\n")
    console.print("Gives the network after the N-th reduction, validated and exported.\n")
    hidden = widths(settings.network.hidden)
    console.print(f"  stage 0  hidden layers {hidden}, trained here or shipped (start)")
    for stage in stage_table(settings.reduction):
        console.print(f"  stage {stage.index}  {stage.what}, retrained")
    console.print(f"\n  profiles: {', '.join(PROFILES)}; here: {profile}")
    console.print("  `profile=NAME --help` prints the values of another\n")
    for example, does in EXAMPLES.items():
        console.print(f"  combred run {escape(example):38} {does}")
    console.print()
    items, usual = keys(), Settings()
    for section in dict.fromkeys(key.rpartition(".")[0] for key in items):
        title = section or "the run"
        table = Table(title=title, title_justify="left", title_style="bold", box=None)
        for name in ("key", "value", "unit", "meaning"):
            table.add_column(name, overflow="fold", no_wrap=name == "key")
        for key, item in items.items():
            if key.rpartition(".")[0] != section:
                continue
            value = value_of(settings, key)
            shown = "(none)" if value == "" else escape(str(value))
            if value != value_of(usual, key):
                shown = f"[bold]{shown}[/]"
            table.add_row(key, shown, item.metadata["unit"], escape(item.metadata["help"]))
        console.print(table, width=shutil.get_terminal_size((160, 24)).columns)
        console.print()
    if profile != "default":
        console.print(f"[bold]bold[/]: of the profile {profile}, not the default")
