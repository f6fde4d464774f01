"""The step `validate`: rollouts and flames of every stage against CVODE, and its time."""

from collections.abc import Callable

from combred.pipeline.console import print_validation, progress, say
from combred.pipeline.run import Run
from combred.records import digest, read_json, write_json
from combred.simulation import flame, flame_errors, ignition, ignition_errors
from combred.surrogate.surrogate import Surrogate
from combred.threads import one_thread
from combred.validation import timing
from combred.validation.storage import read_flames, read_rollouts, write_flames, write_rollouts


def validate(run: Run) -> None:
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
    states = table.draw(table.exact, 4096, s.seed)
    rollouts, results = {"cvode": references}, {}
    for stage, surrogate in surrogates.items():
        name = f"stage{stage}"
        with progress(f"rollouts of stage {stage}") as bar, one_thread():
            solver = timing.scripted(surrogate)
            rollouts[name] = ignition.follow(solver, s.dt, references, bar)
        results[name] = ignition_errors.compare(mechanism, rollouts[name], references)
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
            solver = timing.scripted(surrogate)
            flames[name] = flame.follow(mechanism, solver, s.dt, flames["cvode"], s.validation, bar)
        inputs["networks"][name] = networks[name]
        write_flames(file, flames, mechanism, inputs)
    return {
        name: flame_errors.compare(mechanism, flames[name], flames["cvode"]) for name in networks
    }


def by_cvode(run: Run, title: str, reference: Callable[..., list]) -> list:
    """CVODE's answer to the cases of the settings: `ignition.reference`, or `flame.reference`."""
    with progress(title) as bar:
        return reference(*run.reference_task, bar)
