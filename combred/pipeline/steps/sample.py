"""The step `sample`: states.h5, and segments.h5 where a training marches segments."""

import time

from rich.markup import escape

from combred.dataset.sampling import sample
from combred.dataset.segment_sampling import FlameStates, sample_segments
from combred.pipeline.console import progress, say
from combred.pipeline.run import Run
from combred.records import read_json, write_json


def sample_states(run: Run) -> None:
    """states.h5 and sample.json; segments.h5, where a training of this run marches segments."""
    make_states(run)
    if run.rollout_steps:
        make_segments(run)


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


def make_segments(run: Run) -> None:
    """segments.h5, unless segments of these settings, and long enough, are there."""
    s, path, steps = run.settings, run.path("segments.h5"), run.rollout_steps
    if path.exists():
        segments = run.segments(1)
        if segments.steps >= steps:
            say(run, f"segments: {len(segments.states):,}, reused")
            return
    table = run.states()
    held_out = table.held_out(s.training.held_out, s.seed)
    flames = FlameStates.drawn(table, held_out, s.segments.flames, s.seed)
    with progress("integrating segments") as bar:
        numbers = sample_segments(path, run.segment_sampler, flames, run.workers, bar)
    record = run.path("sample.json")
    write_json(record, {**read_json(record), "segments": numbers})
    say(
        run,
        f"segments: {numbers['segments']:,} of {steps} steps, {numbers['flames']:,} of them from "
        f"flames; {numbers['failed']} ignitions could not be integrated, {numbers['not_ignited']} did "
        "not ignite",
    )
