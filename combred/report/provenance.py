"""How a network was made, and its limits: the last two sections of a report."""

from combred.experiments.accuracy import BEHIND, LEFT
from combred.report.blocks import Note, Section, Table, Text
from combred.report.folder import Folder
from combred.report.formats import NBSP, atmospheres, duration, number, percent, span


def made_section(folder: Folder) -> Section:
    """Inputs that reproduce the network, training states, and times of the steps."""
    s, inputs, timing, sample = folder.settings, folder.inputs, folder.timing, folder.sample
    training, cvode = folder.card.get("training", {}), inputs["chemistry"]
    versions = folder.card.get("versions", {}).items()
    rows = [
        ["command", f"`{training.get('command', '–')}`"],
        ["mechanism", f"{folder.mechanism.name}, {folder.mechanism.n_species} species"],
        ["sha256 of the mechanism", f"`{folder.mechanism.sha256[:16]}`"],
        ["mixture", f"{inputs['fuel']} in {inputs['oxidizer']} (moles)"],
        ["time step of the validation", f"{number(inputs['dt'])}{NBSP}s"],
        ["CVODE, rtol and atol", f"{number(cvode['rtol'])} and {number(cvode['atol'])}"],
        *(training_rows(s, folder) if s else []),
        ["seed", str(s.get("seed", "–"))],
        ["profile", str(s.get("profile", "–"))],
        ["versions", ", ".join(f"{name} {version}" for name, version in versions) or "–"],
        ["Training states"],
        *([name, f"{n:,}"] for name, n in sample.get("rows_per_sampler", {}).items() if n),
        ["all", f"{sample['rows']:,}" if sample else "– (there is no sample.json)"],
        ["failed", f"{sample['failed_rows']:,}" if sample else "–"],
        ["Computing time"],
        *([name, duration(value)] for name, value in seconds(folder).items() if value is not None),
    ]
    left = ", ".join(f"{name}: {percent(share)}" for name, share in timing["solved"].items())
    text = Text(
        f"Time a state: the median on one core of {timing['machine']}, over {timing['states']}. "
        f"Solver and networks advance batches of {timing['batch']:,} states, as a flow code calls "
        "them; CVODE advances one state after the other, through Cantera. All were measured in "
        "turns, so that their ratios are more reliable than their values. A network of more than a "
        "million weights is not compiled: it is in torch. Of these states, "
        f"{left} {LEFT}."
    )
    source = "settings.json, sample.json, train.json, reduce.json, validation.json, surrogate.json"
    return Section("How it was made", [Table(["", "value"], rows, source, left=2), text])


def training_rows(s: dict, folder: Folder) -> list[list[str]]:
    """Where the states of the training come from, and what the network is."""
    sampling, shipped = s["sampling"], folder.shipped
    kinds = "mixtures, ignitions and mixing layers of a flow"
    if sampling["sampler"] == "premixed":
        kinds = f"{sampling['ignitions']} premixed ignitions, and flames"
    does = "sees the state alone; one dt"
    if s["network"]["kinetics"]:
        does = "corrects quasi-steady-state (QSS) steps; any dt in its range"
    own = "states.h5 of the user" in folder.sample.get("inputs", {})
    sampled = [
        ["states sampled", f"{kinds}: {ranges(sampling)}"],
        ["time step dt of the states", f"{span(sampling['dt'])}{NBSP}s"],
    ]
    return [
        *([["states", "of the user's own"]] if own else sampled),
        ["network", does],
        ["stage 0", f"{shipped}, which comes with combred" if shipped else "trained"],
    ]


def ranges(sampling: dict) -> str:
    """The ranges of the states of the training in words."""
    p = " to ".join(dict.fromkeys(map(atmospheres, sampling["p"])))
    T0, phi = span(sampling["T0"]), span(sampling["phi"])
    return f"T0 {T0}{NBSP}K, phi {phi}, p {p}{NBSP}atm"


def seconds(folder: Folder) -> dict[str, float | None]:
    """The time [s] of each step, as far as the files hold it."""
    times = {"sampling the states": folder.sample.get("seconds")}
    if not folder.shipped:
        times["training stage 0"] = folder.train.get("seconds")
    for stage, record in folder.reductions.items():
        times[f"retraining stage {stage}"] = record.get("retraining", {}).get("seconds")
        if trace := record.get("criteria", {}).get("trace"):
            times[f"search for stage {stage}"] = sum(attempt["seconds"] for attempt in trace)
    return times


def limit_section(folder: Folder) -> Section:
    """What was not validated, when the network is to be trusted, and the range of its training."""
    card = folder.card
    flames = "" if "flame" in folder.stages[folder.last][BEHIND] else "flames and transport, "
    text = Text(
        f"**Not validated:** {flames}other pressures, mixtures and time steps, and the coupling to "
        "a flow. The results are those of one training with one seed; another seed gives other "
        "errors. A state inside the range of the training may still have a wrong prediction. The "
        'page "Start" of the documentation has the calls in Python, C++ and OpenFOAM.'
    )
    if not card:
        return Section("Limits", [text, Note("Nothing was exported: there is no surrogate.json.")])
    outside = " and outside the range of the training"
    error = "the correction that conserves elements and enthalpy, divided by its tolerance"
    if card["network"]["kinetics"]:
        share, outside = percent(card["tolerance"]), ""
        error = f"the estimated error, divided by the tolerance, {share} of the change of the state"
    T = [round(value) for value in card["range"]["T"]]
    p = " to ".join(dict.fromkeys(map(atmospheres, card["range"]["p"])))
    trust = Text(
        f"The network takes dt = {span(card['dt'])}{NBSP}s, as in the training. Its error ratio is "
        f"{error}. The ratio is infinite for another dt{outside}. A ratio of at most 1 is trusted; "
        "elsewhere, the solver is to be taken, as the exported library does. The states of the "
        f"training have T = {span(T)}{NBSP}K and p = {p}{NBSP}atm; `surrogate.json` has the range "
        "of each species. Outside, the network extrapolates."
    )
    return Section("Limits", [text, trust])
