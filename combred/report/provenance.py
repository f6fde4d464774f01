"""How a network was made: its settings, its training states, and the times of the steps.

Takes a `Folder`; gives a section of a report.
"""

from combred.report.blocks import (
    NBSP,
    Block,
    Note,
    Section,
    Table,
    Text,
    atmospheres,
    duration,
    percent,
    power,
    several,
)
from combred.report.folder import Folder


def made_section(folder: Folder) -> Section:
    """Settings, training states, and times of the steps."""
    blocks: list[Block] = [made_table(folder)]
    if folder.sample:
        blocks.append(state_table(folder))
    else:
        blocks.append(Note("The training states are not described: there is no sample.json."))
    times = duration_table(folder)
    blocks += [times] if times.rows else []
    return Section("How it was made", [*blocks, *([timing_text(folder)] if folder.times else [])])


def timing_text(folder: Folder) -> Text:
    """How the time per state was measured."""
    timing = folder.timing
    return Text(
        f"Time a state: the median on one core of {timing.get('machine', 'an unknown machine')}, "
        f"over {timing.get('states', 'states of the run')}: solver and networks in batches of "
        f"{timing.get('batch', 0):,}, as a flow code calls them, CVODE one by one through Cantera. "
        "All were measured in turns: their ratios are more reliable than their values. A network "
        "of the state alone has no compiled form, and is timed in TorchScript."
    )


def made_table(folder: Folder) -> Table:
    """Settings, precision, seed and versions: the inputs that reproduce the network."""
    s, inputs = folder.settings, folder.inputs
    cvode = inputs.get("chemistry", {})
    rows = [
        ["mechanism", f"{folder.mechanism.name}, {folder.mechanism.n_species} species"],
        ["sha256 of the mechanism", f"`{folder.mechanism.sha256[:16]}`"],
        ["mixture", f"{inputs.get('fuel', '–')} in {inputs.get('oxidizer', '–')} (moles)"],
        ["time step of the marches", f"{inputs['dt']:g}{NBSP}s" if "dt" in inputs else "–"],
        ["CVODE, rtol and atol", f"{power(cvode.get('rtol'))} and {power(cvode.get('atol'))}"],
    ]
    rows += _setting_rows(s, folder.train) if s else []
    rows += [
        ["seed", str(s.get("seed", "–"))],
        ["profile", str(s.get("profile", "–"))],
        ["versions", ", ".join(f"{k} {v}" for k, v in folder.versions.items()) or "–"],
    ]
    source = "settings.json, train.json, validation.json, surrogate.json, states.h5 (attributes)"
    return Table(["", "value"], rows, source, left=2)


def _setting_rows(s: dict, train: dict) -> list[list[str]]:
    """Settings of sampling and training."""
    sampling, again = s["sampling"], s["training"] | s["retraining"]
    does, sensitivity = "sees the state alone; one dt", []
    if s["network"]["kinetics"]:
        does, known = (
            "corrects quasi-steady-state (QSS) steps; any dt in its range",
            s.get("sensitivity", {}),
        )
        number = (
            f"{known.get('ignitions', 0)} ignitions, {known.get('flames', 0)} premixed and "
            f"{known.get('counterflows', 0)} counterflow flames, {known.get('kernels', 0)} kernels"
        )
        sensitivity = [["states with sensitivities", number]]
    return [
        *_sampling_rows(sampling),
        *sensitivity,
        ["network", does],
        *_stage0_rows(s, train),
        ["retraining of each stage", _training(again)],
        ["held out", f"{percent(sampling['held_out'])} of the trajectories"],
    ]


def _sampling_rows(sampling: dict) -> list[list[str]]:
    """Where the states come from, and their time steps."""

    def span(key: str) -> str:
        low, high = sampling[key]
        return f"{low:g} to {high:g}" if low != high else f"{low:g}"

    pressures = dict.fromkeys(map(atmospheres, sampling["p"]))
    gas = f"T0 {span('T0')} K, phi {span('phi')}, p {' to '.join(pressures)} atm"
    rows = [["states sampled", f"of a flow: mixtures, ignitions and mixing layers; {gas}"]]
    if sampling["sampler"] == "premixed":
        flames = f"phi {span('flame_phi')}, unburnt at {several(sampling['flame_T'], 'K')}"
        rows = [
            ["ignitions sampled", f"{sampling['ignitions']}: {gas}"],
            ["flames sampled", f"{sampling['flames']}: {flames}"],
        ]
    return [*rows, ["time step dt of the states", f"{span('dt')}{NBSP}s"]]


def _stage0_rows(s: dict, train: dict) -> list[list[str]]:
    """The origin of the network of stage 0."""
    if "shipped" in train:
        return [["stage 0", f"{train['shipped']}, which comes with combred (see its card)"]]
    return [
        ["initial scale of each layer", ", ".join(map(str, s["network"]["scales"]))],
        ["training", _training(s["training"])],
        ["precision of the training", str(train.get("precision", "–"))],
    ]


def _training(t: dict) -> str:
    sizes = dict.fromkeys((t["batch"], t["batch_final"]))
    named = {"soap": "SOAP", "muon": "Muon"}.get(t["optimizer"], "Adam")
    return (
        f"{t['steps']:,} steps of {named} on L1, rate {t['lr']:g} (cosine), "
        f"batch {' to '.join(f'{size:,}' for size in sizes)}"
    )


def state_table(folder: Folder) -> Table:
    """The number of training states by sampler."""
    counts = folder.sample.get("rows_per_sampler", {}).items()
    rows = [[name, f"{n:,}"] for name, n in counts if n]
    rows.append(["all", f"{folder.sample['rows']:,}"])
    rows.append(["failed in CVODE", f"{folder.sample['failed_rows']:,}"])
    rows.append(["trajectories that failed", f"{len(folder.sample.get('lost_trajectories', []))}"])
    return Table(["states", "number"], rows, "sample.json")


def duration_table(folder: Folder) -> Table:
    """The time that each step took, as far as the files hold it."""
    rows = [["sampling the states", duration(folder.sample.get("seconds"))]]
    if "shipped" not in folder.train:
        rows.append(["training stage 0", duration(folder.train.get("seconds"))])
    for stage, record in folder.reductions.items():
        if "criteria" in record:
            seconds = sum(attempt["seconds"] for attempt in record["criteria"]["trace"])
            rows.append(["search for stage 1 by the acceptance criteria", duration(seconds)])
            continue
        seconds = record.get("retraining", {}).get("seconds")
        rows.append([f"retraining stage {stage}", duration(seconds)])
    known = [row for row in rows if row[1] != "–"]
    records = "train.json, reduce.json" if folder.reductions else "train.json"
    return Table(["step", "time"], known, f"sample.json, {records}")
