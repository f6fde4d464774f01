"""The sections of a report: what is shown, in which order, and the words around it.

Takes a `Folder`, the numbers of condensation and the names of the figures that were drawn; gives
`Section`s. What is missing is said, with the file that it would be in.
"""

from combred.report.blocks import Block, Note, Picture, Section, Text
from combred.report.criteria import criteria_record, criteria_section
from combred.report.flames import flame_section
from combred.report.folder import Folder
from combred.report.methods import methods_section
from combred.report.paper import paper_section
from combred.report.provenance import cases_in_words, made_section, use_section
from combred.report.tables import case_table, stage_table, time_table
from combred.report.traces import PANELS

PAPER = (
    "The paper is Chen & Xu, Efficient and flexible method for reducing moderate-size deep neural "
    "networks with condensation (2024); its full network, for DRM19, is "
    "23-3200-1600-800-400-23."
)


def make_sections(folder: Folder, condensed: dict, drawn: set[str]) -> list[Section]:
    """All sections. `condensed`: what `condensation_numbers` gave."""
    sections = [
        stages_section(folder),
        paper_section(folder),
        criteria_section(folder, drawn),
        ignition_section(folder, drawn),
        flame_section(folder, drawn),
        loss_section(folder, drawn),
        condensation_section(folder, condensed, drawn),
        methods_section(folder, drawn),
        time_section(folder, drawn),
        made_section(folder),
        use_section(folder),
    ]
    return [section for section in sections if section is not None]


def stages_section(folder: Folder) -> Section:
    """The table of stages."""
    one_layer = all("layer" in record for record in folder.reductions.values())
    how = (
        "Each stage condenses one hidden layer of the network before it: units whose rows [W | b] "
        "are more alike than the threshold become one, and the network is retrained. "
        if one_layer
        else "Each stage takes units from all hidden layers of the network before it, as many from "
        "each as costs least accuracy for the parameters asked for; those that stay are mixed so "
        "that the next layer's inputs change least, and the network is retrained. "
    )
    if criteria_record(folder):
        how = (
            "The smallest network found that passes the criteria: units are taken from all hidden "
            "layers together, and the network is retrained, again and again, until nothing smaller "
            "passes. "
        )
    told: Block = Text(
        f"{how}The merge "
        "errors are those of the network's output right after the merge, relative, in the 2-norm "
        "over training states; the drift is that of an element's mass fraction along a rollout. "
        f"{PAPER}"
    )
    if not folder.last:
        told = Text("Nothing was reduced in this run: stage 0 is the trained network.")
    elif not folder.reductions:
        told = Note("Of the reductions nothing is known: there is no reduce.json.")
    return Section("Stages", [stage_table(folder), told])


def ignition_section(folder: Folder, drawn: set[str]) -> Section:
    """Rollouts against CVODE: delays, temperatures, species, the worst case, every case."""
    result = folder.measured(folder.last)
    count = len(result["cases"])
    blocks: list[Block] = [
        Text(
            f"{count} ignition{'s' if count > 1 else ''} at constant pressure and enthalpy: "
            f"{cases_in_words(folder)}. Network and CVODE start from the same mixture and are "
            "marched over the same steps dt, past ignition to the burnt state; the network is fed "
            "nothing but its own output. The delay is the time of the steepest rise of T."
        )
    ]
    shortest = min(row["reference_delay"] for row in result["cases"])
    dt = folder.inputs.get("dt", 0.0)
    if shortest < 20 * dt:
        blocks.append(
            Note(
                f"The shortest delay is {shortest / dt:.1f} steps dt long: its error is a matter "
                "of fractions of a step."
            )
        )
    blocks += [p for p in ignition_pictures(folder, result["worst_case"]) if p.name in drawn]
    if "temperatures" not in drawn:
        blocks.append(
            Note("The rollouts are not shown: validation.h5 is missing, or lacks this stage.")
        )
    return Section("Ignition", [*blocks, case_table(folder)])


def ignition_pictures(folder: Folder, worst: str) -> list[Picture]:
    """The figures of ignitions, with what to see on them."""
    lines = "Black: CVODE; blue: stage 0."
    if folder.last:
        lines = (
            f"Black: CVODE; orange: stage {folder.last}; dashed blue: stage 0, before the "
            "reductions."
        )
    rollouts = "validation.h5, validation.json"
    cases = len(folder.measured(folder.last)["cases"])
    left_out = f" Shown: the {PANELS} of {cases} cases of largest error." if cases > PANELS else ""
    return [
        Picture(
            "delays",
            "Ignition delay against 1000/T0",
            "Ignition delay against initial temperature, and its error. A marker on the black line "
            "of its equivalence ratio: the network ignites when CVODE does. A cross: it does not "
            "ignite.",
            "validation.json",
        ),
        Picture(
            "temperatures",
            "Temperature around the ignition of each case",
            f"Temperature around the ignition. {lines} Time runs from CVODE's ignition; a window "
            "is a few rise times wide, so that a small shift is seen. The number in a panel is the "
            f"delay error of stage {folder.last}.{left_out}",
            rollouts,
        ),
        Picture(
            "species",
            "Species around the ignition",
            "Mass fractions around the ignition; for each equivalence ratio (if there is one only: "
            f"for each T0) the case whose delay is worst. {lines}",
            rollouts,
        ),
        Picture(
            "worst",
            f"The worst case, {worst}",
            f"The worst case of all, {worst}. {lines}",
            rollouts,
        ),
    ]


def loss_section(folder: Folder, drawn: set[str]) -> Section:
    """Loss curves."""
    files = [f"stage{stage}.jsonl" for stage in folder.losses]
    trained = [s for s in folder.stages if s or "shipped" not in folder.train]
    missing = [f"stage{s}.jsonl" for s in trained if s not in folder.losses]
    picture = Picture(
        "losses",
        "Training and validation loss of all stages",
        "Loss of every stage, laid end to end. Vertical lines: reductions; triangles: the "
        "validation loss right after the merge. It is the mean over held-out trajectories, in the "
        "network's transformed units. Perturbed states make up most of it: it says whether the "
        "training has converged, not whether the network ignites in time.",
        ", ".join([*files, *(["reduce.json"] if folder.reductions else [])]),
    )
    blocks: list[Block] = [picture] if "losses" in drawn else []
    if missing:
        blocks.append(Note(f"Not shown, because missing: {', '.join(missing)}."))
    if "shipped" in folder.train:
        name = folder.train["shipped"]
        blocks.append(Note(f"Stage 0 is {name}, which comes with combred: not trained here."))
    return Section("Loss", blocks)


def condensation_section(folder: Folder, condensed: dict, drawn: set[str]) -> Section:
    """How far layers have condensed, and what a reduction made of it."""
    blocks: list[Block] = []
    if "similarity" in drawn:
        blocks += _similarity(condensed["reductions"])
    elif folder.last:
        blocks.append(
            Note(
                "The similarity of the reduced layers is not shown: it needs reduce.json and the "
                "weights of every stage (stage0.safetensors and so on)."
            )
        )
    if "groups" in drawn:
        blocks.append(
            Picture(
                "groups",
                "Number of groups against cosine threshold",
                "The units that each layer would keep if it were condensed at a threshold. A line "
                "that falls early has condensed; where it is flat, there is nothing to merge.",
                "condensation.json",
            )
        )
    return Section("Condensation", blocks)


def _similarity(reductions: list[dict]) -> list[Block]:
    """The matrices, and their groups in words."""
    told = []
    for record in reductions:
        before, after = record["before"], record["after"]
        told.append(
            f"stage {record['stage']}, layer {record['layer']} at {record['threshold']:g}: "
            f"{before['units']} units in {before['groups']} groups, the largest of "
            f"{before['largest_group']}; after retraining {after['units']} units in "
            f"{after['groups']} groups"
        )
    side = max(record["before"]["units_per_pixel"] for record in reductions)
    coarse = f" A pixel is the mean of up to {side} × {side} similarities." if side > 1 else ""
    caption = (
        "Cosine similarity between the units of the reduced layer, ordered by group, largest "
        "first. Red blocks on the diagonal before a reduction are units that point the same way; "
        f"after it and the retraining, few should be left.{coarse} In numbers: {'. '.join(told)}."
    )
    alt = "Cosine-similarity matrices of the reduced layers"
    return [Picture("similarity", alt, caption, "condensation.npz, condensation.json")]


def time_section(folder: Folder, drawn: set[str]) -> Section:
    """Time per state."""
    if "times" not in drawn:
        return Section("Time per state", [Note("validation.json holds no times.")])
    timing = folder.validation["timing"]
    cores = timing.get("cores", 1)
    many = f" in batches of {timing['batch']:,}" if "batch" in timing else ""
    picture = Picture(
        "times",
        "Time per state of CVODE and of each stage",
        f"Time to advance one state by dt on {cores} core{'s' if cores != 1 else ''}; machine: "
        f"{timing.get('machine', 'unknown')}. Bars: medians; grey lines: fastest to slowest of the "
        "repeats, cut where they leave a panel. Pale: the network's products alone, which is what "
        "papers tend to report; full colour: what a CFD code waits for, with transforms, element "
        "projection and temperature.",
        "validation.json",
    )
    told = Text(
        f"The states: {timing.get('states', 'those of the run')}. CVODE takes them one by one "
        f"through Cantera, the networks{many}. All times are of one run on one machine, measured "
        "in turns: trust their ratios more than their values, and measure again on yours."
    )
    return Section("Time per state", [picture, told, time_table(folder)])
