"""The sections of a report: their order, and the words around tables and figures.

Takes a `Folder`, the numbers of condensation and the names of the figures that were drawn; gives
`Section`s. A section says what is missing, and which file would hold it.
"""

from combred.report.blocks import Block, Note, Picture, Section, Text
from combred.report.criteria import criteria_record, criteria_section
from combred.report.flames import flame_section
from combred.report.folder import Folder
from combred.report.methods import methods_section
from combred.report.paper import paper_section
from combred.report.provenance import made_section
from combred.report.stirred import stirred_section
from combred.report.tables import case_table, stage_table, time_table
from combred.report.traces import PANELS
from combred.report.usage import cases_in_words, use_section

PAPER = (
    "The paper is Chen & Xu, Efficient and flexible method for reducing moderate-size deep neural "
    "networks with condensation (2024); its full network, for DRM19, is "
    "23-3200-1600-800-400-23."
)


def make_sections(folder: Folder, condensed: dict, drawn: set[str]) -> list[Section]:
    """All sections. condensed: the result of `condensation_numbers`; drawn: names of figures."""
    sections = [
        stages_section(folder),
        paper_section(folder),
        criteria_section(folder, drawn),
        ignition_section(folder, drawn),
        flame_section(folder, drawn),
        stirred_section(folder, drawn),
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
    how = (
        "Each stage condenses one hidden layer of the previous network: units whose rows [W | b] "
        "have a cosine similarity above the threshold are merged into one, and the network is "
        "retrained. "
        if folder.one_layer_each
        else "Each stage removes units from all hidden layers of the previous network. The widths "
        "are those that cost least accuracy for the target share of parameters. The units that "
        "stay are combined so that the inputs of the next layer change least, and the network is "
        "retrained. "
    )
    if criteria_record(folder):
        how = (
            "Stage 1 is the smallest network found that meets the acceptance criteria: units are "
            "removed from all hidden layers together and the network is retrained, repeatedly, "
            "until no smaller network meets them. "
        )
    text: Block = Text(
        f"{how}The merge error is the relative error of the network's output right after the "
        "merge, in the 2-norm over training states. The element drift is the largest change of an "
        f"element mass fraction along a rollout. {PAPER}"
    )
    if not folder.last:
        text = Text("Nothing was reduced in this run: stage 0 is the trained network.")
    elif not folder.reductions:
        text = Note("The reductions are not described: there is no reduce.json.")
    return Section("Stages", [stage_table(folder), text])


def ignition_section(folder: Folder, drawn: set[str]) -> Section:
    """Rollouts against CVODE: delays, temperatures, species, the worst case, all cases."""
    result = folder.measured(folder.last)
    count = len(result["cases"])
    blocks: list[Block] = [
        Text(
            f"{count} ignition{'s' if count > 1 else ''} at constant pressure and enthalpy: "
            f"{cases_in_words(folder)}. Network and CVODE start from the same mixture and take the "
            "same time steps, past ignition to the burnt gas. Each step of the network starts "
            "from its own previous prediction. The ignition delay is the time at which T has "
            "reached half of its rise; CVODE continues the last state before."
        )
    ]
    blocks += [p for p in ignition_pictures(folder, result["worst_case"]) if p.name in drawn]
    if "temperatures" not in drawn:
        blocks.append(
            Note("The rollouts are not shown: validation.h5 is missing or lacks this stage.")
        )
    return Section("Ignition", [*blocks, case_table(folder)])


def ignition_pictures(folder: Folder, worst: str) -> list[Picture]:
    """The figures of ignitions with their captions; worst: the name of the worst case."""
    lines = "Black: CVODE; blue: stage 0."
    if folder.last:
        lines = (
            f"Black: CVODE; orange: stage {folder.last}; dashed blue: stage 0, before the "
            "reductions."
        )
    rollouts = "validation.h5, validation.json"
    cases = len(folder.measured(folder.last)["cases"])
    left_out = (
        f" Shown: the {PANELS} of {cases} cases with the largest errors." if cases > PANELS else ""
    )
    return [
        Picture(
            "delays",
            "Ignition delay against 1000/T0",
            "Ignition delay against initial temperature, and its error. Lines: CVODE; markers: the "
            "networks; a cross: the network does not ignite.",
            "validation.json",
        ),
        Picture(
            "temperatures",
            "Temperature around the ignition of each case",
            f"Temperature around the ignition. {lines} Time is counted from CVODE's ignition; a "
            "panel is a few rise times wide, so that a small shift is visible. The number in a "
            f"panel is the delay error of stage {folder.last}.{left_out}",
            rollouts,
        ),
        Picture(
            "species",
            "Species around the ignition",
            "Mass fractions around the ignition: for each equivalence ratio, or each T0 if there "
            f"is only one equivalence ratio, the case with the largest delay error. {lines}",
            rollouts,
        ),
        Picture(
            "worst",
            f"The worst case, {worst}",
            f"The case with the largest delay error, {worst}. {lines}",
            rollouts,
        ),
    ]


def loss_section(folder: Folder, drawn: set[str]) -> Section:
    """Loss against training step."""
    files = [f"stage{stage}.jsonl" for stage in folder.losses]
    trained = [s for s in folder.stages if s or "shipped" not in folder.train]
    missing = [f"stage{s}.jsonl" for s in trained if s not in folder.losses]
    picture = Picture(
        "losses",
        "Training and validation loss of all stages",
        "Loss of all stages, one after another. Vertical lines: reductions; triangles: the "
        "validation loss right after a merge. The validation loss is the mean over held-out "
        "trajectories, in the transformed units of the network's output. Perturbed states are the "
        "largest part of it: it shows whether the training has converged, not whether the ignition "
        "delay is right.",
        ", ".join([*files, *(["reduce.json"] if folder.reductions else [])]),
    )
    blocks: list[Block] = [picture] if "losses" in drawn else []
    if missing:
        blocks.append(Note(f"Not shown, because the files are missing: {', '.join(missing)}."))
    if "shipped" in folder.train:
        name = folder.train["shipped"]
        blocks.append(
            Note(f"Stage 0 is {name}, which comes with combred; it was not trained here.")
        )
    return Section("Loss", blocks)


def condensation_section(folder: Folder, condensed: dict, drawn: set[str]) -> Section:
    """Condensation of the layers, before and after the reductions."""
    blocks: list[Block] = []
    if "similarity" in drawn:
        blocks += _similarity(condensed["reductions"])
    elif folder.last and folder.one_layer_each:
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
                "Number of units that each layer would keep if it were condensed at a cosine "
                "threshold. A layer whose line falls already at thresholds near 1 has condensed; "
                "where a line is flat, a lower threshold merges no further units.",
                "condensation.json",
            )
        )
    return Section("Condensation", blocks)


def _similarity(reductions: list[dict]) -> list[Block]:
    """The similarity matrices, with the numbers of groups in words."""
    sentences = []
    for record in reductions:
        before, after = record["before"], record["after"]
        sentences.append(
            f"Stage {record['stage']}, layer {record['layer']} at {record['threshold']:g}: "
            f"{before['units']} units in {before['groups']} groups, of which the largest has "
            f"{before['largest_group']} units; after retraining {after['units']} units in "
            f"{after['groups']} groups."
        )
    side = max(record["before"]["units_per_pixel"] for record in reductions)
    coarse = f" A pixel is the mean over up to {side} × {side} pairs." if side > 1 else ""
    caption = (
        "Cosine similarity between the units of the reduced layer, ordered by group, the largest "
        "first. Red blocks on the diagonal are groups of units with nearly the same direction, "
        f"which a reduction merges; few should remain after it.{coarse} {' '.join(sentences)}"
    )
    alt = "Cosine-similarity matrices of the reduced layers"
    return [Picture("similarity", alt, caption, "condensation.npz, condensation.json")]


def time_section(folder: Folder, drawn: set[str]) -> Section:
    """Time per state."""
    if "times" not in drawn:
        return Section("Time per state", [Note("There are no times in validation.json.")])
    timing = folder.validation["timing"]
    cores = timing.get("cores", 1)
    many = f" in batches of {timing['batch']:,}" if "batch" in timing else ""
    picture = Picture(
        "times",
        "Time per state of CVODE, of the solver and of each stage",
        f"Time to advance one state by dt on {cores} core{'s' if cores != 1 else ''}; machine: "
        f"{timing.get('machine', 'unknown')}. Bars: medians; grey lines: fastest to slowest "
        "repeat, clipped at the edge of a panel. A surrogate is timed as a CFD code calls it, with "
        "transforms, element projection and temperature.",
        "validation.json",
    )
    text = Text(
        f"States: {timing.get('states', 'those of the run')}. CVODE advances them one by one "
        f"through Cantera, the others{many}. All times were measured in turns in one run on one "
        "machine: their ratios are more reliable than their values. Measure again on your machine."
    )
    return Section("Time per state", [picture, text, time_table(folder)])
