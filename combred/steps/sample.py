"""The step `sample`: states.h5, and windows.h5 where a training marches windows."""

import time

from rich.markup import escape

from combred.console import progress, say
from combred.records import read_json, write_json
from combred.run import Run
from combred.sampling import sample
from combred.window_sampling import FlameStates, sample_windows


def sample_states(run: Run) -> None:
    """states.h5 and sample.json; windows.h5, where a training of this run marches windows."""
    make_states(run)
    if run.rollout_steps:
        make_windows(run)


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


def make_windows(run: Run) -> None:
    """windows.h5, unless windows of these settings, and long enough, are there."""
    s, path, steps = run.settings, run.path("windows.h5"), run.rollout_steps
    if path.exists():
        windows = run.windows(1)
        if windows.steps >= steps:
            say(run, f"windows: {len(windows.states):,}, reused")
            return
    table = run.states()
    held_out = table.held_out(s.training.held_out, s.seed)
    flames = FlameStates.drawn(table, held_out, s.windows.flames, s.seed)
    with progress("integrating windows") as bar:
        numbers = sample_windows(path, run.window_sampler, flames, run.workers, bar)
    record = run.path("sample.json")
    write_json(record, {**read_json(record), "windows": numbers})
    say(
        run,
        f"windows: {numbers['windows']:,} of {steps} steps, {numbers['flames']:,} of them from "
        f"flames; {numbers['failed']} ignitions could not be integrated, {numbers['unlit']} did "
        "not ignite",
    )
