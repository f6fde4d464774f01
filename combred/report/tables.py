"""The tables of results: stages, cases, times.

Takes a `Folder`; gives `Table`s of formatted numbers, each with the files that hold them.
"""

from combred.report.blocks import (
    NBSP,
    NO_IGNITION,
    Table,
    delay_unit,
    kelvin,
    microseconds,
    percent,
    power,
    shape,
    significant,
)
from combred.report.criteria import limits_in_words
from combred.report.folder import Folder
from combred.report.verdict import failures, of_paper


def stage_table(folder: Folder) -> Table:
    """The results of all stages: a column for each stage, a row for each quantity.

    A quantity that no stage has, as the thresholds in a run without reductions, has no row.
    """
    stages = folder.stages
    parts = {
        "Reduction": reduction_rows,
        "Size": size_rows,
        "Validation loss": loss_rows,
        "Ignition against CVODE": ignition_rows,
        "Time per state, one core": time_rows,
    }
    rows: list[list[str]] = []
    for heading, columns_of in parts.items():
        columns = [columns_of(folder, stage) for stage in stages]
        known = [
            [name, *(column.get(name, "–") for column in columns)]
            for name in dict.fromkeys(name for column in reversed(columns) for name in column)
        ]
        rows += [[heading], *known] if known else []
    start = folder.train.get("shipped", "trained")
    heads = ["", *(f"stage {s}" + (f", {start}" if s == 0 else "") for s in stages)]
    records = "reduce.json, train.json" if folder.reductions else "train.json"
    return Table(heads, rows, f"validation.json, {records}")


def reduction_rows(folder: Folder, stage: int) -> dict[str, str]:
    """How the stage was reduced, and the errors right after it."""
    record = folder.reductions.get(stage)
    if record is None:
        return {}
    errors = record.get("merge_errors", {})
    if "layer" in record:
        rows = {
            "hidden layer": str(record["layer"]),
            "cosine threshold": f"{record['threshold']:g}",
            "groups (units of the largest)": f"{record['groups']} ({record['largest_group']})",
        }
    else:
        rows = {"method": record["method"].replace("_", " ")}
        if "criteria" in record:
            rows["acceptance criteria, at most"] = limits_in_words(record["criteria"])
        else:
            rows["target share of the parameters of stage 0"] = percent(record["parameters"])
    rows["compensation"] = record["compensation"].replace("_", " ")
    for key, name in (("own", "own compensation"), ("least_squares", "least squares")):
        if key in errors:
            rows[f"merge error, {name}"] = percent(errors[key]["output"])
    return rows


def size_rows(folder: Folder, stage: int) -> dict[str, str]:
    """Widths and number of weights."""
    result, first = folder.measured(stage), folder.measured(folder.stages[0])
    rows = {"widths": shape(result["widths"]), "weights": f"{result['weights']:,}"}
    if folder.last:
        rows["of stage 0"] = percent(result["weights"] / first["weights"])
    if of_paper(folder, result):
        rows["of the paper's full network"] = of_paper(folder, result)
    return rows


def loss_rows(folder: Folder, stage: int) -> dict[str, str]:
    """Validation losses before the reduction, after it and after the retraining."""
    record = folder.reductions.get(stage, {})
    losses = {
        "before the merge": record.get("validation_before"),
        "right after the merge": record.get("validation_merged"),
        "after training": folder.loss(stage),
    }
    return {name: significant(loss, 3) for name, loss in losses.items() if loss is not None}


def ignition_rows(folder: Folder, stage: int) -> dict[str, str]:
    """Errors of the ignitions against CVODE."""
    result = folder.measured(stage)
    cases, failed = len(result["cases"]), len(failures(result))
    ignited = f"{cases - failed} of {cases}"
    rows = {
        "cases that ignite": f"**{ignited}**" if failed else ignited,
        "delay error, median": percent(result["delay_error"]["median"]),
        "delay error, worst": percent(result["delay_error"]["worst"]),
        "worst case": result["worst_case"],
        "burnt T error, worst": kelvin(result["burnt_T_error"]["worst"]),
    }
    for name, errors in result["peak_errors"].items():
        rows[f"peak of {name}, worst"] = percent(errors["worst"])
    drift = max(row["element_drift"] for row in result["cases"])
    return rows | {"element drift, worst": power(drift)}


def time_rows(folder: Folder, stage: int) -> dict[str, str]:
    """Time per state of the surrogate, and how many times as long CVODE takes."""
    own = folder.seconds(stage)
    if own is None:
        return {}
    rows = {"surrogate": microseconds(own)}
    for name, cvode in folder.cvode_seconds.items():
        rows[f"{name} ÷ surrogate"] = f"{significant(cvode / own, 2)} ×"
    return rows


def case_table(folder: Folder) -> Table:
    """Every case of the last stage, with the delay error of stage 0 for comparison."""
    last, first = folder.last, folder.stages[0]
    result = folder.measured(last)
    species = list(result["peak_errors"])
    pressures = len({row["p"] for row in result["cases"]}) > 1
    heads = ["T0 [K]", "phi", *(["p [Pa]"] if pressures else [])]
    unit, factor = delay_unit(result["cases"])
    heads += [
        f"delay, CVODE [{unit}]",
        f"network [{unit}]",
        "error",
        *([f"error, stage{NBSP}0"] if last else []),
    ]
    heads += ["burnt T error, end", "burnt T error, largest", *(f"peak {name}" for name in species)]
    rows = []
    for row, old in zip(result["cases"], folder.measured(first)["cases"], strict=True):
        cells = [f"{row['T0']:g}", f"{row['phi']:g}", *([f"{row['p']:g}"] if pressures else [])]
        delay = significant(factor * row["delay"], 4) if row["ignited"] else NO_IGNITION
        cells += [significant(factor * row["reference_delay"], 4), delay, signed_error(row)]
        cells += [signed_error(old)] if last else []
        cells += [kelvin(row["burnt_T_error"]), kelvin(row["largest_T_error"])]
        rows.append(cells + [percent(row["peak_errors"][name]) for name in species])
    caption = (
        f"All cases with the network of stage {last}. Errors of delays and peak mass fractions are "
        "relative; +: later than CVODE, −: earlier. The burnt T is compared at the last step; its "
        "largest error is taken over all times after 1.1 delays."
    )
    return Table(heads, rows, "validation.json", caption, left=0)


def signed_error(row: dict) -> str:
    """The delay error of a case with its sign: + if the network ignites later than CVODE."""
    if not row["ignited"]:
        return NO_IGNITION
    return percent(row["delay_error"], "+" if row["delay"] >= row["reference_delay"] else "−")


def time_table(folder: Folder) -> Table:
    """Median and range of every time, the share of states that a surrogate leaves to the solver,
    and the ratio of CVODE's time to it."""
    timing = folder.validation["timing"]
    rows = [
        [name, *(microseconds(time[key]) for key in ("median", "fastest", "slowest"))]
        + [percent(timing["solved"][name]) if name in timing.get("solved", {}) else ""]
        + [f"{significant(cvode / time['median'], 2)} ×" for cvode in folder.cvode_seconds.values()]
        for name, time in folder.times.items()
    ]
    ratios = [f"{name} ÷ this" for name in folder.cvode_seconds]
    return Table(
        ["", "median", "fastest", "slowest", "left to the solver", *ratios], rows, "validation.json"
    )
