"""The report: one page with the numbers of the files in the run folder, and what is missing.

The run folders are made by combred's own writers from rollouts of a known shape: with CVODE T rises
in a smooth step at the ignition delay, with a network in the same step some per cent later, or not
at all.
"""

import base64
import json
import re
import shutil
from dataclasses import asdict
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from combred.chemistry.mechanism import Mechanism
from combred.config import CRITERIA, ReductionSettings, resolve
from combred.records import digest, write_json
from combred.reduction import Stage, reduce_stage
from combred.report import blocks, write_report
from combred.report.criteria import criteria_section, draw_criteria
from combred.report.folder import read_folder
from combred.report.similarity import block_means, condensation_numbers, ordered_similarity
from combred.report.stirred import draw_stirred
from combred.report.style import save as render
from combred.report.traces import PANELS, Trace, overview, worst_of_each
from combred.report.usage import PYTHON, error_estimate
from combred.report.verdict import alarms, sentence
from combred.simulation import flame_errors, flame_outcome, ignition_errors, stirred_cases
from combred.simulation.flame import Flame
from combred.simulation.ignition import Case, Rollout
from combred.simulation.moving_grid import FlameCase, Profile
from combred.simulation.stirred_reactor import FINISHED, NOT_FINITE, StirredRun
from combred.surrogate.card import make_card
from combred.surrogate.export import export_torchscript
from combred.surrogate.network import Network
from combred.surrogate.storage import save_surrogate
from combred.surrogate.surrogate import Surrogate
from combred.surrogate.transform import StateTransform
from combred.validation.storage import (
    read_stirred,
    write_flames,
    write_rollouts,
    write_stirred,
)

DT, STEPS = 1e-6, 400
CASES = [Case(T0, 101325.0, phi) for T0 in (1500.0, 1700.0) for phi in (0.6, 1.4)]
FUELS = {"drm19.yaml": "CH4:1", "h2o2.yaml": "H2:1"}
AIR = "O2:1, N2:3.76"
# Of a network of the state alone, trained on premixed gas.
SETTINGS = ["network.kinetics=false", "sampling.sampler=premixed", "sampling.dt=[1e-6,1e-6]"]
TIMES = {"CVODE rtol 1e-08 atol 1e-16": 6e-4, "CVODE rtol 1e-06 atol 1e-10": 2e-4}


# -- a run folder ----------------------------------------------------------------------------------


def rollout(mechanism: Mechanism, case: Case, lateness: float) -> Rollout:
    """From the mixture to its burnt state in a smooth step; lateness NaN: it stays unburnt."""
    gas = mechanism.solution()
    unburnt = mechanism.mixture(FUELS[mechanism.name], AIR, case.phi)
    gas.TPY = case.T0, case.p, unburnt
    gas.equilibrate("HP")
    t = np.arange(STEPS + 1) * DT
    delay = 150e-6 * 1700.0 / case.T0 * (1.0 + lateness)
    burnt = 0.0 * t if np.isnan(delay) else 0.5 * (1 + np.tanh((t - delay) / 8e-6))
    return Rollout(
        case, t, case.T0 + burnt * (gas.T - case.T0), unburnt + burnt[:, None] * (gas.Y - unburnt)
    )


def parent(mechanism: Mechanism, hidden: list[int]) -> Surrogate:
    """A network whose first hidden layer has pairs of units that point nearly the same way."""
    n = 2 + mechanism.n_species
    torch.manual_seed(0)
    network = Network([n, *hidden, n])
    half = hidden[0] // 2
    with torch.no_grad():
        first = network.layers[0]
        first.weight[half : 2 * half] = 2.0 * first.weight[:half]
        first.bias[half : 2 * half] = 2.0 * first.bias[:half]
        first.weight += 1e-4 * torch.randn_like(first.weight)
    transform = StateTransform(mechanism.n_species, 0.1, 1e-13, 1 / 3)
    transform.dt_range.fill_(DT)
    return Surrogate(mechanism, transform, network)


def loss_lines(steps: int, start: float) -> str:
    lines = [
        {"step": s, "lr": 1e-3, "batch": 64, "train": start / s, "validation": 1.1 * start / s}
        | {"validation_by_sampler": {"ignition": 0.3 * start / s, "ignition relaxed": start / s}}
        for s in range(steps // 5, steps + 1, steps // 5)
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


def make_run(
    folder: Path,
    mechanism: Mechanism,
    lateness: list[list[float]],
    cases: list[Case] = CASES,
    hidden: tuple[int, ...] = (24, 12),
    export: bool = False,
) -> Path:
    """A whole run folder; `lateness`: of each stage, the relative delay error in each case."""
    folder.mkdir(parents=True, exist_ok=True)
    surrogate = parent(mechanism, list(hidden))
    asked = [f"stage={len(lateness) - 1}", f"mechanism={mechanism.name}", *SETTINGS]
    settings = resolve(asked)
    inputs = {"validation": asdict(settings.validation), "chemistry": asdict(settings.chemistry)}
    inputs |= {"dt": DT, "fuel": FUELS[mechanism.name], "oxidizer": AIR}
    groups = {"cvode": [rollout(mechanism, case, 0.0) for case in cases]}
    results, networks, records = {}, {}, []
    for stage, late in enumerate(lateness):
        name, weights = f"stage{stage}", folder / f"stage{stage}.safetensors"
        if stage:
            x = torch.randn(64, 2 + mechanism.n_species)
            reduction = ReductionSettings(min_width=2)
            step = Stage(stage, 1, 0.999 if stage == 1 else 0.4 / stage)
            with torch.no_grad():
                surrogate.network, record = reduce_stage(
                    surrogate.network, step, reduction, x, surrogate.network.n_weights
                )
            record |= {"validation_before": 0.05, "validation_merged": 0.06}
            records.append(record | {"retraining": {"validation": 0.055, "seconds": 30.0}})
        save_surrogate(weights, surrogate, mechanism)
        (folder / f"{name}.jsonl").write_text(loss_lines(50 if stage else 100, 0.5))
        pairs = zip(cases, late, strict=True)
        groups[name] = [rollout(mechanism, case, error) for case, error in pairs]
        results[name] = ignition_errors.compare(mechanism, groups[name], groups["cvode"])
        results[name] |= {
            "weights": surrogate.network.n_weights,
            "widths": surrogate.network.widths,
        }
        networks[name] = digest(weights)
    write_rollouts(folder / "validation.h5", groups, mechanism, {"cases": inputs, "networks": {}})
    medians = TIMES | {f"stage {i}": 1e-5 / (1 + i) for i in range(len(lateness))}
    medians |= {f"stage {i}, network alone": 4e-6 / (1 + i) for i in range(len(lateness))}
    spread = {k: {"median": v, "fastest": 0.9 * v, "slowest": 1.5 * v} for k, v in medians.items()}
    timing = {"cores": 1, "machine": "a processor, 2 cores", "batch": 4096, "times": spread}
    write_json(
        folder / "validation.json",
        {"inputs": inputs, "networks": networks, "stages": results, "timing": timing},
    )
    write_json(folder / "settings.json", asdict(settings))
    write_json(folder / "train.json", {"validation": 0.05, "seconds": 90.0, "precision": "bf16"})
    counts = {"rows": 1200, "failed_rows": 3, "rows_per_sampler": {"ignition": 1200}}
    write_json(folder / "sample.json", {"seconds": 12.0, "lost_trajectories": [], **counts})
    if records:
        write_json(folder / "reduce.json", {"stages": records})
    if export:
        card = make_card(surrogate, mechanism, {}, {})
        states = np.array([[case.T0, case.p, *groups["cvode"][0].Y[0]] for case in cases])
        numbers = export_torchscript(folder / "surrogate.pt", surrogate, card, states)
        write_json(folder / "export.json", {"stage": len(lateness) - 1, **numbers})
    return folder


THREE = [[0.02, 0.01, -0.03, 0.005], [0.04, 0.01, -0.05, 0.01], [0.06, -0.02, 0.10, 0.015]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory, drm19) -> Path:
    """A folder with two reductions and an exported file, and its report."""
    folder = make_run(tmp_path_factory.mktemp("whole") / "run", drm19, THREE, export=True)
    write_report(folder, drm19)
    return folder


@pytest.fixture(scope="module")
def single(tmp_path_factory, h2o2) -> Path:
    """A folder of stage 0 alone, of a mechanism without carbon, where one case does not ignite;
    no losses, no states, nothing exported."""
    lateness = [[0.02, np.nan, -0.03, 0.005]]
    folder = make_run(tmp_path_factory.mktemp("single") / "run", h2o2, lateness)
    for name in ("stage0.jsonl", "sample.json"):
        (folder / name).unlink()
    write_report(folder, h2o2)
    return folder


@pytest.fixture
def rendered(monkeypatch) -> set[str]:
    """Names of the figures that a report of this test renders: none, unless a test adds some.
    The others are made, but one pixel is saved of them: rendering is most of a report's time."""
    names: set[str] = set()

    def save(figure, path: Path) -> None:
        if path.stem in names:
            render(figure, path)
        else:
            Image.new("RGB", (1, 1)).save(path)

    monkeypatch.setattr("combred.report.save", save)
    return names


class Page(HTMLParser):
    """A page's tags with their attributes, and its tables as rows of words."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.tables: list[list[list[str]]] = []
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data):
        if self.inside:
            self.tables[-1][-1][-1] += data

    def all(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.tags if name == tag]

    def row(self, name: str) -> list[str]:
        """The cells beside a row's head, in the first table that has it."""
        return next(r[1:] for table in self.tables for r in table if r and r[0] == name)


def read_page(folder: Path) -> Page:
    return Page((folder / "report.html").read_text(encoding="utf-8"))


def number(cell: str) -> float:
    """A written number: 6.31 %, +2.0 %, 1,616, 8.07 µs."""
    return float(cell.replace("−", "-").replace(",", "").split("\u00a0")[0].rstrip(" ×"))


def numbers_of(folder: Path, stage: int) -> dict:
    return json.loads((folder / "validation.json").read_text())["stages"][f"stage{stage}"]


# -- tests -----------------------------------------------------------------------------------------


def test_report_is_one_file(whole):
    page = read_page(whole)
    outside = [a for _, a in page.tags if re.match("https?:|//", a.get("src", a.get("href", "")))]
    assert not outside and not page.all("link") and not page.all("script")
    assert "url(" not in (whole / "report.html").read_text()
    images = [a["src"].partition(",") for a in page.all("img")]
    assert len(images) == len(list((whole / "figures").glob("*.png"))) == 8
    for kind, _, data in images:
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data, validate=True).startswith(b"\x89PNG")


def test_every_figure_has_a_caption_and_the_file_of_its_numbers(whole):
    text = (whole / "report.html").read_text()
    figures = re.findall(r"<figure>.*?</figure>", text, flags=re.S)
    assert len(figures) == 8
    assert all("Numbers: " in f and re.search(r'alt="[^"]{10,}"', f) for f in figures)
    assert text.count("<table>") <= text.count("Numbers: ") - len(figures)


def test_markdown_has_the_same_tables_and_figures(whole):
    text = (whole / "report.md").read_text(encoding="utf-8")
    links = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert len(links) == 8 and all((whole / link).is_file() for link in links)
    lines = text.replace("`", "").splitlines()
    for table in read_page(whole).tables:
        for row in table:
            words = f"**{row[0]}**" if len(row) == 1 else " | ".join(row)
            assert any(words in line for line in lines), words
    for above, line in zip(lines, lines[1:], strict=False):
        if re.fullmatch(r"\|([:-]+\|)+", line):
            assert above.count("|") == line.count("|")


def test_states_and_network_of_the_training_are_named(whole, drm19, tmp_path, rendered):
    page = read_page(whole)
    assert page.row("network") == ["sees the state alone; one dt"]
    assert page.row("time step dt of the states") == ["1e-06\u00a0s"]
    assert page.row("ignitions sampled")[0].startswith("1200: T0 900 to 2300 K, phi 0.25 to 4")
    assert page.row("flames sampled")[0].startswith("80: phi 0.5 to 1.7")
    assert page.row("retraining of each stage")[0].startswith("6,000 steps of SOAP on L1")
    folder = shutil.copytree(whole, tmp_path / "run")
    settings = json.loads((folder / "settings.json").read_text())
    # Settings of earlier versions, which the report does not need.
    settings["segments"] = {"steps": 8, "ignitions": 500}
    settings["retraining"]["rollout_share"] = 0.2
    settings["network"]["kinetics"] = True
    settings["sampling"] |= {"sampler": "flow", "dt": [1e-8, 1e-5]}
    (folder / "settings.json").write_text(json.dumps(settings))
    write_report(folder, drm19)
    page = read_page(folder)
    assert page.row("network")[0].startswith("corrects a quasi-steady step of the reaction rates")
    assert page.row("states sampled")[0].startswith("of a flow: mixtures, ignitions and mixing")
    assert page.row("time step dt of the states") == ["1e-08 to 1e-05\u00a0s"]
    assert all(row[0] != "flames sampled" for table in page.tables for row in table)


def test_the_error_estimate_is_explained_for_each_kind_of_network(whole):
    shown = (whole / "report.md").read_text().replace(blocks.NBSP, " ")
    assert "It takes dt = 1e-06 s alone." in shown and "infinite outside the training" in shown
    assert "torch::full({n_cells}, 1e-06, torch::kFloat64)" in shown and "| dt [s] |" in shown
    card = {"dt": [1e-8, 1e-5], "network": {"kinetics": True}, "tolerance": 0.03}
    told = error_estimate(card).replace(blocks.NBSP, " ")
    assert "any dt; those of the training are between 1e-08 and 1e-05 s" in told
    assert "the tolerance (3.00 % of its change) is divided" in told


def test_stage_table_is_validation_json(whole):
    page = read_page(whole)
    for stage in range(3):
        result = numbers_of(whole, stage)
        assert page.row("widths")[stage] == "-".join(map(str, result["widths"]))
        assert number(page.row("weights")[stage]) == result["weights"]
        assert page.row("worst case")[stage] == result["worst_case"]
        for kind in ("median", "worst"):
            written = number(page.row(f"delay error, {kind}")[stage])
            assert written == pytest.approx(100 * result["delay_error"][kind], abs=0.051)
        burnt = number(page.row("burnt T error, worst")[stage])
        assert burnt == pytest.approx(result["burnt_T_error"]["worst"], abs=0.051)
        assert number(page.row("surrogate")[stage]) == pytest.approx(10 / (1 + stage), rel=5e-3)
    share = numbers_of(whole, 2)["weights"] / 6_802_800
    assert number(page.row("of the paper's full network")[2]) == pytest.approx(
        100 * share, abs=0.006
    )
    assert number(page.row("CVODE rtol 1e-08 atol 1e-16 ÷ surrogate")[0]) == 60


def test_case_table_is_validation_json(whole):
    rows = next(t for t in read_page(whole).tables if t[0][0] == "T0 [K]")
    cases = numbers_of(whole, 2)["cases"]
    assert len(rows) == 1 + len(cases)
    for cells, case, first in zip(rows[1:], cases, numbers_of(whole, 0)["cases"], strict=True):
        assert [float(c) for c in cells[:2]] == [case["T0"], case["phi"]]
        assert float(cells[2]) == pytest.approx(1e3 * case["reference_delay"], rel=1e-3)
        assert float(cells[3]) == pytest.approx(1e3 * case["delay"], rel=1e-3)
        late = 100 * (case["delay"] / case["reference_delay"] - 1)
        assert number(cells[4]) == pytest.approx(late, abs=0.051)
        assert abs(number(cells[5])) == pytest.approx(100 * first["delay_error"], abs=0.051)
        peak = case["peak_errors"]["OH"]
        assert number(cells[8]) == pytest.approx(100 * peak, abs=0.051)


def test_reaction_rates_are_named_where_they_are_evaluated(whole, drm19, tmp_path, rendered):
    named = "quasi-steady-state step from the mechanism's reaction rates"
    assert named not in (whole / "report.md").read_text()
    folder = shutil.copytree(whole, tmp_path / "run")
    validation = json.loads((folder / "validation.json").read_text())
    for result in validation["stages"].values():
        result["widths"][0] += 39  # as with network.kinetics
    (folder / "validation.json").write_text(json.dumps(validation))
    write_report(folder, drm19)
    assert named in (folder / "report.md").read_text()


def test_verdict_names_size_and_errors(whole, drm19):
    result, said = numbers_of(whole, 2), sentence(read_folder(whole, drm19))
    assert "-".join(map(str, result["widths"])) in said
    for value in (result["delay_error"]["median"], result["delay_error"]["worst"]):
        assert blocks.percent(value) in said
    assert result["worst_case"] in said and "6,802,800" in said
    assert not alarms(read_folder(whole, drm19))


def test_a_case_that_does_not_ignite_is_named_first(single, h2o2):
    case = str(CASES[1])
    text = (single / "report.html").read_text()
    alarm = re.search(r'<p class="alarm">(.*?)</p>', text, flags=re.S).group(1)
    assert "1 of 4 cases" in alarm and case in alarm
    assert text.index(alarm) < text.index("<h2>")
    said = sentence(read_folder(single, h2o2))
    assert "1 of 4 cases does not ignite" in said and "inf" not in said
    page = read_page(single)
    assert page.row("cases that ignite") == ["3 of 4"]
    assert page.row("delay error, worst") == ["no ignition"]
    assert "nan" not in re.sub(r'base64,[^"]*', "", text)


def test_stage_0_alone(single):
    text, page = (single / "report.html").read_text(), read_page(single)
    assert "Nothing was reduced" in text
    assert "paper's full network" not in text  # it has other variables
    for missing in ("sample.json", "surrogate.json", "stage0.jsonl"):
        assert f"{missing}" in text
    drawn = {path.stem for path in (single / "figures").glob("*.png")}
    assert drawn == {"delays", "temperatures", "species", "worst", "groups", "times"}
    assert "Y(CO)" not in text and page.row("widths")


# -- flames ----------------------------------------------------------------------------------------


def planted_flame(mechanism: Mechanism, case: FlameCase, error: float) -> Flame:
    """A smooth flame whose speed has the relative error `error`; NaN: it went out."""
    gas, unburnt = mechanism.solution(), mechanism.mixture("CH4:1", AIR, case.phi)
    gas.TPY = case.T, case.p, unburnt
    gas.equilibrate("HP")
    x = np.linspace(0.0, 4e-3, 80)
    s = 0.5 * (1 + np.tanh((x - 2e-3) / 2e-4 * (1 + np.nan_to_num(error))))
    T, Y = case.T + s * (gas.T - case.T), unburnt + s[:, None] * (gas.Y - unburnt)
    profile = Profile(case, 1e-5, unburnt, gas.T, T, Y, 0.4)
    out = flame_outcome.WENT_OUT if np.isnan(error) else flame_outcome.STEADY
    numbers = (0.4 * (1 + error), 0.4 * (1 + error), 4e-4 / (1 + error), out)
    return Flame(profile, x, *(np.ones(10) for _ in range(3)), *numbers)


def plant_flames(folder: Path, mechanism: Mechanism, errors: list[list[float]]) -> None:
    """Flames in a run folder; `errors`: of each stage, the relative error of each speed."""
    cases = [FlameCase(300.0, 101325.0, phi) for phi in (0.6, 0.8, 1.0, 1.4)]
    groups = {"cvode": [planted_flame(mechanism, case, 0.0) for case in cases]}
    validation = json.loads((folder / "validation.json").read_text())
    validation["flame_inputs"] = {"validation": {"flame_phi": [0.6, 0.8, 1.0, 1.4]}}
    for stage, stage_errors in enumerate(errors):
        pairs = zip(cases, stage_errors, strict=True)
        groups[f"stage{stage}"] = [planted_flame(mechanism, *pair) for pair in pairs]
        result = flame_errors.compare(mechanism, groups[f"stage{stage}"], groups["cvode"])
        validation["stages"][f"stage{stage}"]["flame"] = result
    write_json(folder / "validation.json", validation)
    inputs = {"cases": validation["flame_inputs"], "networks": {}}
    write_flames(folder / "flames.h5", groups, mechanism, inputs)


FLAMES = [[0.01, 0.02, -0.03, 0.04], [0.01, 0.02, -0.03, 0.01], [0.011, np.nan, -0.052, 0.024]]


def test_flames_are_shown_where_there_are_flames(whole, drm19, tmp_path, rendered):
    rendered.add("flames")
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    assert "Flames" not in (folder / "report.md").read_text()
    plant_flames(folder, drm19, FLAMES)
    write_report(folder, drm19)
    page, text = read_page(folder), (folder / "report.md").read_text()
    assert (folder / "figures/flames.png").is_file() and "## Flames" in text
    row = page.row("300 K, phi 1, 1 atm")
    assert number(row[0]) == pytest.approx(0.4) and number(row[1]) == pytest.approx(0.379, abs=1e-3)
    errors = [cell.replace("\u00a0", " ") for cell in row[2:4]]
    assert errors == ["−5.20 %", "−3.00 %"]  # of the last stage and of stage 0
    assert page.row("300 K, phi 0.8, 1 atm")[1] == flame_outcome.WENT_OUT
    shown = read_folder(folder, drm19)
    assert [len(flames) for flames in shown.flames.values()] == [4, 4, 4, 4]


def test_flames_of_other_settings_are_not_drawn(whole, drm19, tmp_path, rendered):
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    plant_flames(folder, drm19, FLAMES)
    validation = json.loads((folder / "validation.json").read_text())
    validation["flame_inputs"] = {"validation": {"flame_phi": [2.0]}}
    write_json(folder / "validation.json", validation)
    write_report(folder, drm19)
    assert not (folder / "figures/flames.png").exists()
    assert "flames.h5 is missing" in (folder / "report.md").read_text()


# -- stirred reactors ------------------------------------------------------------------------------


def planted_stirred(mechanism: Mechanism, case, error: float) -> StirredRun:
    """T oscillates around 1700 K and CO grows; the relative error of both grows in time up to
    `error`; NaN: the run became not finite halfway."""
    late = np.linspace(0.0, 1.0, case.steps + 1)
    off = 1 + late * np.nan_to_num(error)
    if np.isnan(error):
        off[late > 0.5] = np.nan
    Y = np.zeros((len(late), mechanism.n_species))
    Y[:, mechanism.index("CO")] = 0.01 * (1 + late) * off
    T = (1700 + 100 * np.sin(9 * late)) * off
    outcome = NOT_FINITE if np.isnan(error) else FINISHED
    particles = T[: case.particles], Y[: case.particles]
    return StirredRun(case, case.dt * case.steps * late, T, 0 * T, Y, *particles, outcome)


def plant_stirred(
    folder: Path, mechanism: Mechanism, p: list[float], errors: list[list[float]]
) -> None:
    """Stirred reactors at the pressures p [Pa] in a run folder; `errors`: of each stage and
    pressure, the largest relative error of mean T and CO."""
    todo = stirred_cases.cases(p)
    groups = {"cvode": [planted_stirred(mechanism, case, 0.0) for case in todo]}
    validation = json.loads((folder / "validation.json").read_text())
    validation["stirred_inputs"] = {"cases": [asdict(case) for case in todo]}
    for stage, stage_errors in enumerate(errors):
        pairs = zip(todo, stage_errors, strict=True)
        groups[f"stage{stage}"] = [planted_stirred(mechanism, *pair) for pair in pairs]
        result = stirred_cases.compare_all(mechanism, groups[f"stage{stage}"], groups["cvode"])
        validation["stages"][f"stage{stage}"]["stirred"] = result
    write_json(folder / "validation.json", validation)
    inputs = {"cases": validation["stirred_inputs"], "networks": {}}
    write_stirred(folder / "stirred.h5", groups, mechanism, inputs)


ATM = 101325.0
STIRRED = [[0.05, 0.02], [0.06, 0.03], [0.01, np.nan]]  # of three stages at 1 and 20 atm


def test_stirred_reactors_are_shown_where_there_are_some(whole, drm19, tmp_path, rendered):
    folder = shutil.copytree(whole, tmp_path / "run")
    assert "Stirred" not in (folder / "report.md").read_text()
    plant_stirred(folder, drm19, [ATM, 20 * ATM], STIRRED)
    write_report(folder, drm19)
    text = (folder / "report.md").read_text().replace(blocks.NBSP, " ")
    assert "## Stirred reactor" in text and "and the stirred reactors above" in text
    assert "40 particles" in text and "residence time is 2 ms" in text
    assert (folder / "figures/stirred.png").is_file()
    rows = next(t for t in read_page(folder).tables if "mean CO, largest" in t[0])[1:]
    stages = ["stage 2", "stage 0"]
    assert [row[0] for row in rows] == ["1 atm", *stages, "20 atm", *stages]
    # The relative error grows linearly in time: its average is half of the largest.
    assert [number(cell) for cell in rows[1][1:]] == pytest.approx([1.0, 0.5] * 2, abs=0.006)
    assert [number(cell) for cell in rows[2][1:]] == pytest.approx([5.0, 2.5] * 2, abs=0.006)
    assert rows[4][1:] == ["not finite"] * 4
    assert [number(cell) for cell in rows[5][1:]] == pytest.approx([2.0, 1.0] * 2, abs=0.006)


def test_the_three_worst_pressures_are_drawn(whole, drm19, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "run")
    pressures = [ATM, 2 * ATM, 5 * ATM, 20 * ATM]
    plant_stirred(folder, drm19, pressures, [[0.1] * 4] * 2 + [[0.03, 0.01, np.nan, 0.02]])
    figure = draw_stirred(read_folder(folder, drm19))
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[:3] == ["1 atm", "5 atm", "20 atm"]
    assert [len(axes.lines) for axes in figure.axes] == [3] * 6
    labels = [axes.get_ylabel() for axes in figure.axes if axes.get_ylabel()]
    assert labels == ["mean T [K]", "mean Y(CO) [-]"]


@pytest.mark.parametrize("why", ["missing", "of other settings", "lacks a stage"])
def test_stirred_reactors_that_cannot_be_drawn_are_named(whole, drm19, tmp_path, rendered, why):
    folder = shutil.copytree(whole, tmp_path / "run")
    plant_stirred(folder, drm19, [ATM], [[0.01], [0.02], [0.03]])
    file, validation = folder / "stirred.h5", json.loads((folder / "validation.json").read_text())
    if why == "missing":
        file.unlink()
    elif why == "of other settings":
        validation["stirred_inputs"]["cases"][0]["seed"] = 7
        write_json(folder / "validation.json", validation)
    else:
        groups, inputs = read_stirred(file, drm19)
        del groups["stage2"]
        write_stirred(file, groups, drm19, inputs)
    write_report(folder, drm19)
    assert not (folder / "figures/stirred.png").exists()
    assert "stirred.h5 is missing" in (folder / "report.md").read_text()
    assert number(read_page(folder).row("stage 2")[0]) == pytest.approx(3.0, abs=0.006)


# -- the comparison of methods ---------------------------------------------------------------------


def method_row(method: str, ratio: float, error: float, not_ignited: int = 0) -> dict:
    judged = {
        "not_ignited": not_ignited,
        "cases": 12,
        "delay_median": 0.0123,
        "delay_worst": 0.0456,
    }
    return {
        **{"method": method, "compensation": "least_squares", "data": "states", "ratio": ratio},
        **{"error": error, "seconds": 0.5, "before": judged, "after": judged},
    }


def test_the_methods_that_were_compared_are_shown(whole, drm19, tmp_path, rendered):
    rendered.add("methods")
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    rows = [
        method_row("brain_surgeon", 0.6, 0.0451),
        method_row("folding", 0.6, 0.0683, not_ignited=5),
    ]
    measured_on = {"widths": [23, 40, 23], "retraining": {"steps": 1000}}
    (folder / "reduction.json").write_text(json.dumps({"measured_on": measured_on, "rows": rows}))
    write_report(folder, drm19)
    text = (folder / "report.md").read_text().replace(blocks.NBSP, " ")
    assert "| brain surgeon | least squares | states | 0.045 | 0.50 s |" in text
    assert "| brain surgeon | least squares | states | 1.23 % / 4.56 % |" in text
    assert "| folding | least squares | states | 5 of 12 not ignited |" in text
    assert "after retraining, median / worst (1,000 steps)" in text
    assert (folder / "figures" / "methods.png").exists()
    assert "## Methods" not in (whole / "report.md").read_text()


def test_missing_validation_names_the_command(tmp_path, h2o2):
    with pytest.raises(FileNotFoundError, match=r"combred\.pipeline only=validate"):
        write_report(tmp_path, h2o2)
    write_json(tmp_path / "validation.json", {"inputs": {}})
    with pytest.raises(FileNotFoundError, match="validation.json"):
        write_report(tmp_path, h2o2)


def test_files_that_do_not_belong_together_are_named(tmp_path, h2o2, rendered):
    """Weights changed since they were validated; rollouts, settings and records lost."""
    folder = make_run(tmp_path / "run", h2o2, [row[:1] for row in THREE[:2]], CASES[:1])
    for name in ("validation.h5", "reduce.json", "settings.json", "train.json"):
        (folder / name).unlink()
    other = parent(h2o2, [24, 12])
    save_surrogate(folder / "stage1.safetensors", other, h2o2)
    write_json(folder / "export.json", {"stage": 0})
    write_report(folder, h2o2)
    text = (folder / "report.html").read_text()
    assert "weights of stage 1 in this folder are not those" in text
    assert "exported file holds stage 0; this report is about stage 1" in text
    assert "no reduce.json" in text and "validation.h5 is missing" in text


# -- the search by the acceptance criteria ---------------------------------------------------------


def attempt(number: int, error: float | None, passed: bool, **changes) -> dict:
    """An attempt of the search as reduce.json has it; error: that of the ignition delay."""
    errors = None if error is None else {"ignition": error, "flame": None}
    return {
        **{"number": number, "parent": 0, "factor": 0.6, "passed": passed, "note": ""},
        **{"shape": {"widths": [23, 40 - number, 23], "weights": 1900 - 46 * number}},
        **{"share": 0.9, "errors_cut": errors, "errors": errors, "seconds": 30.0, **changes},
    }


def search_record(trace: list[dict], smallest: int, reason: str = "attempts") -> dict:
    criteria = {
        **{"limits": {"ignition": 0.01, "flame": 0.005}, "seed": 1, "max_keep_ratio": 0.88},
        **{"cases": {"ignitions": [0] * 8, "flames": [0] * 2}, "factor": 0.6},
        **{"reason": reason, "smallest": smallest, "trace": trace},
    }
    return {"criteria": criteria, "weights_after": 1854}


def text_of(section) -> str:
    return section.blocks[0].body.replace(blocks.NBSP, " ")


def test_a_search_names_its_limits_attempts_and_end():
    trace = [attempt(0, 0.004, True), attempt(1, 0.009, True), attempt(2, np.inf, False)]
    folder = SimpleNamespace(reductions={1: search_record(trace, 1)})
    section = criteria_section(folder, {"criteria"})
    text = text_of(section)
    assert "worst relative error of the ignition delay of 1.00 %" in text
    assert "8 ignitions and 2 flames drawn with seed 1" in text
    assert "2 attempts were made, 1 met the criteria" in text and "1,854 weights" in text
    assert "number of attempts was used up" in text
    table = section.blocks[-1]
    assert [row[0] for row in table.rows] == ["0, trained", "1", "2"]
    assert blocks.NO_IGNITION in table.rows[2] and table.rows[1][-2] == "yes"
    figure = draw_criteria(folder.reductions[1]["criteria"])
    assert [axes.get_title() for axes in figure.axes] == list(CRITERIA.values())[::2]


def test_a_search_without_a_smaller_network_says_so():
    trace = [attempt(0, 0.004, True), attempt(1, None, False, shape={}, note="diverged")]
    folder = SimpleNamespace(reductions={1: search_record(trace, 0, "max_keep_ratio")})
    section = criteria_section(folder, set())
    assert "would have kept more than 88.0 % of the weights" in text_of(section)
    assert section.blocks[1].alarm and "stage 1 is the network of stage 0" in section.blocks[1].body
    assert section.blocks[-1].rows[1][-2] == "no: diverged"


def test_no_search_has_no_section():
    assert criteria_section(SimpleNamespace(reductions={1: {"layer": 1}}), set()) is None


# -- condensation and numbers ----------------------------------------------------------------------


def test_condensation_numbers_find_the_planted_pairs(whole, drm19, tmp_path):
    folder = read_folder(whole, drm19)
    numbers = condensation_numbers(tmp_path, folder.networks, folder.reductions)
    first = numbers["reductions"][0]
    assert first["before"]["units"] == 24 and first["before"]["groups"] == 12
    assert first["before"]["largest_group"] == 2 and first["after"]["units"] == 12
    groups = numbers["groups"]["stage0"]["1"]
    assert groups == sorted(groups, reverse=True) and groups[0] == 12
    with np.load(tmp_path / "condensation.npz") as matrices:
        matrix = matrices["stage1_before"].astype(float)
    pairs = np.abs(matrix - 1.0) < 1e-2
    assert pairs.sum() == 24 + 24 and all(pairs[i, i + 1] for i in range(0, 24, 2))
    assert json.loads((tmp_path / "condensation.json").read_text())["groups"]["stage2"]


def test_similarity_is_ordered_by_group_and_dead_units_come_last():
    layer = torch.nn.Linear(3, 7)
    axes = torch.eye(3)
    rows = [axes[0], axes[1], 2 * axes[1], 0 * axes[0], axes[2], 3 * axes[2], 0.5 * axes[2]]
    with torch.no_grad():
        layer.weight.copy_(torch.stack(rows))
        layer.bias.zero_()
    numbers, matrix = ordered_similarity(layer, 0.99)
    blocks_of_ones = np.zeros((7, 7))
    for start, size in ((0, 3), (3, 2), (5, 1)):
        blocks_of_ones[start : start + size, start : start + size] = 1.0
    np.testing.assert_allclose(matrix, blocks_of_ones, atol=1e-7)
    assert (numbers["groups"], numbers["largest_group"], numbers["dead_units"]) == (3, 3, 1)


def test_shown_cases_are_the_worst():
    """Of more cases than panels the worst are shown, in order; of each phi the worst."""
    rng = np.random.default_rng(0)
    errors = rng.permutation(PANELS + 6) / 100
    flat = np.zeros(3)
    traces = [
        Trace(
            Rollout(Case(1000.0 + i, 1e5, (0.6, 1.0)[i % 2]), flat, flat, flat),
            {},
            {0: {"delay_error": error, "ignited": i != 3}},
            last=0,
        )
        for i, error in enumerate(errors)
    ]
    shown = overview(traces)
    assert len(shown) == PANELS and traces[3] in shown and overview(shown) == shown
    assert min(t.error for t in shown) >= sorted(t.error for t in traces)[6]
    assert [t.reference.case.T0 for t in shown] == sorted(t.reference.case.T0 for t in shown)
    lean, rich = worst_of_each(traces)
    assert lean.error == max(t.error for t in traces[::2]) and rich is traces[3]


def test_block_means_against_loops():
    matrix = torch.randn(11, 11, dtype=torch.float64)
    means = block_means(matrix, 4)
    for i in range(3):
        for j in range(3):
            block = matrix[4 * i : 4 * i + 4, 4 * j : 4 * j + 4]
            assert means[i, j] == pytest.approx(float(block.mean()), rel=1e-12)
    assert block_means(matrix, 1) is matrix


def test_python_lines_of_the_report_run(whole, drm19, monkeypatch):
    monkeypatch.chdir(whole)
    names = {"T": 1600.0, "p": 101325.0, "Y": drm19.mixture("CH4:1", AIR, 1.0)}
    exec(PYTHON, names)
    assert names["later"].shape == (1, 23) and names["rate"].shape == (1, 21)
    assert names["trusted"].dtype == torch.bool and names["card"]["dt"] == [DT, DT]


@pytest.mark.parametrize(
    ("fraction", "written"),
    [(0.40509, "40.5 %"), (0.0834, "8.34 %"), (0.000612, "0.06 %"), (4e-6, "0.0004 %")]
    + [(0.0, "0.00 %"), (np.nan, "–"), (None, "–"), (np.inf, blocks.NO_IGNITION)],
)
def test_percent(fraction, written):
    assert blocks.percent(fraction).replace(blocks.NBSP, " ") == written


@pytest.mark.parametrize(
    ("value", "written"), [(617.69, "618"), (5.839, "5.84"), (0.28871, "0.289"), (0, "0")]
)
def test_significant(value, written):
    assert blocks.significant(value) == written
