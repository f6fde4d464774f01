"""A run folder, made by combred's own writers from rollouts of a known shape; a report's page.

With CVODE T rises in a smooth step at the ignition delay, with a network in the same step some per
cent later, or not at all.
"""

import html
import json
import re
from dataclasses import asdict
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import torch

from combred.chemistry.fuel import Mixture
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.reactor import REFERENCE
from combred.config import ReductionSettings, resolve
from combred.experiments.ignition.experiment import Ignitions
from combred.experiments.ignition.rollout import Case, Rollout
from combred.files.records import digest, write_json
from combred.pipeline.stages import Stage, reduce_stage
from combred.surrogate.card import make_card
from combred.surrogate.export import export_torchscript
from combred.surrogate.forms import make_surrogate
from combred.surrogate.network import Network
from combred.surrogate.storage import save_surrogate
from combred.surrogate.surrogate import Surrogate
from combred.surrogate.transform import StateTransform

DT, STEPS = 1e-6, 400
T0 = "sampling.T0=[900,2300]"
CASES = [Case(T0, 101325.0, phi) for T0 in (1500.0, 1700.0) for phi in (0.6, 1.4)]
FUELS = {"drm19.yaml": "CH4:1", "h2o2.yaml": "H2:1"}
AIR = "O2:1, N2:3.76"
# Of a network of the state alone, trained on premixed gas.
ATM = 101325.0
SETTINGS = ["network.kinetics=false", "sampling.sampler=premixed", "sampling.dt=[1e-6,1e-6]"]
TIMES = {"CVODE rtol 1e-08 atol 1e-16": 6e-4, "CVODE rtol 1e-06 atol 1e-10": 2e-4}
THREE = [[0.02, 0.01, -0.03, 0.005], [0.04, 0.01, -0.05, 0.01], [0.06, -0.02, 0.10, 0.015]]


def rollout(mechanism: Mechanism, case: Case, lateness: float) -> Rollout:
    """From the mixture to its burnt state in a smooth step; lateness NaN: it stays unburnt."""
    gas = mechanism.solution()
    unburnt = mechanism.mixture(FUELS[mechanism.name], AIR, case.phi)
    gas.TPY = case.T0, case.p, unburnt
    gas.equilibrate("HP")
    t = np.arange(STEPS + 1) * DT
    delay = 150e-6 * 1700.0 / case.T0 * (1.0 + lateness)
    burnt = 0.0 * t if np.isnan(delay) else 0.5 * (1 + np.tanh((t - delay) / 8e-6))
    Y = unburnt + burnt[:, None] * (gas.Y - unburnt)
    for name in {"CO", "OH"} & set(mechanism.species_names):  # they have peaks, CO the larger one
        Y[:, mechanism.index(name)] += (0.1 if name == "CO" else 0.01) * burnt * (1.0 - burnt)
    return Rollout(case, t, case.T0 + burnt * (gas.T - case.T0), Y)


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
    return make_surrogate(mechanism, transform, network)


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
    asked = [f"stage={len(lateness) - 1}", f"mechanism={mechanism.name}", T0, *SETTINGS]
    settings = resolve(asked)
    inputs = {"validation": asdict(settings.validation), "chemistry": REFERENCE._asdict()}
    inputs |= {"dt": DT, "fuel": FUELS[mechanism.name], "oxidizer": AIR}
    ignitions = Ignitions(mechanism, Mixture("", ""), cases, DT, 0.0)
    groups = {"reference": [rollout(mechanism, case, 0.0) for case in cases]}
    results, networks, records = {}, {}, []
    for stage, late in enumerate(lateness):
        name, weights = f"stage{stage}", folder / f"stage{stage}.safetensors"
        if stage:
            x = torch.randn(64, 2 + mechanism.n_species)
            reduction = ReductionSettings()
            step = Stage(stage, 1, 0.999 if stage == 1 else 0.4 / stage)
            with torch.no_grad():
                surrogate.network, record = reduce_stage(
                    surrogate.network, step, reduction, x, surrogate.network.n_weights
                )
            records.append(record | {"retraining": {"validation": 0.055, "seconds": 30.0}})
        save_surrogate(weights, surrogate, mechanism)
        pairs = zip(cases, late, strict=True)
        groups[name] = [rollout(mechanism, case, error) for case, error in pairs]
        results[name] = ignitions.compare(groups[name], groups["reference"])
        network = surrogate.network
        results[name] |= {"weights": network.n_weights, "widths": network.widths}
        networks[name] = digest(weights)
    groups["solver"] = [rollout(mechanism, case, 1e-4) for case in cases]
    solver = ignitions.compare(groups["solver"], groups["reference"])
    medians = (
        TIMES
        | {"solver, tolerance 0.01": 2e-6}
        | {f"stage {i}": 1e-5 / (1 + i) for i in range(len(lateness))}
    )
    spread = {k: {"median": v, "fastest": 0.9 * v, "slowest": 1.5 * v} for k, v in medians.items()}
    timing = {"machine": "a processor, 2 cores", "batch": 4096, "times": spread}
    timing["states"] = "states of a test"
    timing["solved"] = {f"stage {i}": 0.25 for i in range(len(lateness))}
    numbers = {"inputs": inputs, "networks": networks, "solver": solver, "stages": results}
    write_json(folder / "validation.json", {**numbers, "timing": timing})
    write_json(folder / "settings.json", asdict(settings))
    write_json(folder / "train.json", {"validation": 0.05, "seconds": 90.0, "precision": "bf16"})
    counts = {"rows": 1200, "failed_rows": 3, "rows_per_sampler": {"ignition": 1200}}
    write_json(folder / "sample.json", {"seconds": 12.0, "lost_trajectories": [], **counts})
    if records:
        write_json(folder / "reduce.json", {"stages": records})
    if export:
        card = make_card(surrogate, mechanism, {}, {})
        states = np.array([[case.T0, case.p, *groups["reference"][0].Y[0]] for case in cases])
        numbers = export_torchscript(folder / "surrogate.pt", surrogate, card, states)
        write_json(folder / "export.json", {"stage": len(lateness) - 1, **numbers})
    return folder


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


def text_of(folder: Path) -> str:
    """The text of a page without its pictures, with plain spaces and without tags."""
    page = re.sub(r'base64,[^"]*', "", (folder / "report.html").read_text(encoding="utf-8"))
    plain = html.unescape(re.sub("<[^>]+>", "", page)).replace("\u00a0", " ")
    return re.sub(r"\s+", " ", plain)


def read_page(folder: Path) -> Page:
    return Page((folder / "report.html").read_text(encoding="utf-8"))


def number(cell: str) -> float:
    """A written number: 6.31 %, +2.0 %, 1,616, 8.07 µs."""
    return float(cell.replace("−", "-").replace(",", "").split("\u00a0")[0])


def numbers_of(folder: Path, stage: int) -> dict:
    return json.loads((folder / "validation.json").read_text())["stages"][f"stage{stage}"]


def numbers_of_solver(folder: Path) -> dict:
    return json.loads((folder / "validation.json").read_text())["solver"]
