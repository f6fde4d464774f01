"""How a network was made: its inputs, its training states, and the times of the steps.

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
)
from combred.report.folder import Folder


def made_section(folder: Folder) -> Section:
    """Inputs, training states, and times of the steps."""
    blocks: list[Block] = [made_table(folder)]
    if folder.sample:
        blocks.append(state_table(folder))
    else:
        blocks.append(Note("The training states are not described: there is no sample.json."))
    times = duration_table(folder)
    blocks += [times] if times.rows else []
    return Section("How it was made", [*blocks, timing_text(folder)])


def made_table(folder: Folder) -> Table:
    """The inputs that reproduce the network; settings.json has all of them."""
    s, inputs = folder.settings, folder.inputs
    cvode, command = inputs["chemistry"], folder.card.get("training", {}).get("command")
    rows = [
        ["command", f"`{command}`" if command else "–"],
        ["mechanism", f"{folder.mechanism.name}, {folder.mechanism.n_species} species"],
        ["sha256 of the mechanism", f"`{folder.mechanism.sha256[:16]}`"],
        ["mixture", f"{inputs['fuel']} in {inputs['oxidizer']} (moles)"],
        ["time step of the validation", f"{inputs['dt']:g}{NBSP}s"],
        ["CVODE, rtol and atol", f"{cvode['rtol']:.2g} and {cvode['atol']:.2g}"],
        *(_training_rows(s, folder.train) if s else []),
        ["seed", str(s.get("seed", "–"))],
        ["profile", str(s.get("profile", "–"))],
        ["versions", ", ".join(f"{k} {v}" for k, v in folder.versions.items()) or "–"],
    ]
    source = "settings.json, train.json, validation.json, surrogate.json, states.h5 (attributes)"
    return Table(["", "value"], rows, source, left=2)


def _training_rows(s: dict, train: dict) -> list[list[str]]:
    """Where the states of the training come from, and what the network is."""
    sampling = s["sampling"]

    def span(key: str) -> str:
        low, high = sampling[key]
        return f"{low:g} to {high:g}" if low != high else f"{low:g}"

    pressures = " to ".join(dict.fromkeys(map(atmospheres, sampling["p"])))
    kinds = "mixtures, ignitions and mixing layers of a flow"
    if sampling["sampler"] == "premixed":
        kinds = f"{sampling['ignitions']} premixed ignitions, and flames (counted below)"
    gas = f"T0 {span('T0')} K, phi {span('phi')}, p {pressures} atm"
    does = "sees the state alone; one dt"
    if s["network"]["kinetics"]:
        does = "corrects quasi-steady-state (QSS) steps; any dt in its range"
    stage0 = f"{train['shipped']}, which comes with combred" if "shipped" in train else "trained"
    return [
        ["states sampled", f"{kinds}: {gas}"],
        ["time step dt of the states", f"{span('dt')}{NBSP}s"],
        ["network", does],
        ["stage 0", stage0],
    ]


def state_table(folder: Folder) -> Table:
    """The number of training states by sampler."""
    counts = folder.sample.get("rows_per_sampler", {}).items()
    rows = [[name, f"{n:,}"] for name, n in counts if n]
    rows.append(["all", f"{folder.sample['rows']:,}"])
    rows.append(["failed", f"{folder.sample['failed_rows']:,}"])
    return Table(["states", "number"], rows, "sample.json")


def duration_table(folder: Folder) -> Table:
    """The time that each step took, as far as the files hold it."""
    rows = [["sampling the states", duration(folder.sample.get("seconds"))]]
    if "shipped" not in folder.train:
        rows.append(["training stage 0", duration(folder.train.get("seconds"))])
    for stage, record in folder.reductions.items():
        seconds, what = record.get("retraining", {}).get("seconds"), f"retraining stage {stage}"
        if "criteria" in record:
            seconds = sum(attempt["seconds"] for attempt in record["criteria"]["trace"])
            what = "search for stage 1 by the acceptance criteria"
        rows.append([what, duration(seconds)])
    known = [row for row in rows if row[1] != "–"]
    records = "train.json, reduce.json" if folder.reductions else "train.json"
    return Table(["step", "time"], known, f"sample.json, {records}")


def timing_text(folder: Folder) -> Text:
    """How the time per state was measured."""
    timing = folder.timing
    return Text(
        f"Time a state: the median on one core of {timing['machine']}, "
        f"over {timing['states']}: solver and networks in batches of "
        f"{timing['batch']:,}, as a flow code calls them, CVODE one by one through Cantera. "
        "All were measured in turns: their ratios are more reliable than their values. A network "
        "of more than a million weights is not compiled: it is alone, in TorchScript."
    )
