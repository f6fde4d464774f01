"""Which reduction method is best for a trained combustion network?

    python -m combred.pipeline profile=condensed stage=0
    python -m benchmarks.reduction profile=condensed [key=value ...]

Takes the settings of a pipeline run (those of `combred.pipeline`) and its stage 0. Every method and
compensation keeps 40 and 10 % of every hidden layer. For each the table gives the relative
error of the output on held-out states and the error of the ignition delay against CVODE, both
before and after the same short retraining, and the time of the method on one thread. For
comparison: widths chosen by allocation with the same number of parameters, and the same widths
trained from scratch. Writes reduction.json into the run folder after every row, and resumes from
it by the same code; the report of the run shows it. Prints a table, then one JSON line.

`--errors` as the first argument omits retraining and ignitions, for many networks in little time.
"""

import copy
import functools
import json
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from benchmarks.command_line import words
from benchmarks.provenance import is_current, stamp
from combred.config.command import resolve
from combred.config.learning import TrainingSettings
from combred.config.validation import ValidationSettings
from combred.experiments.ignition.experiment import Ignitions
from combred.files.records import digest, read_json, strict, write_json
from combred.native import fastest
from combred.pipeline.assembly import load_data, load_first
from combred.pipeline.command import prepare
from combred.pipeline.console import progress
from combred.pipeline.run import Run
from combred.processes.machine import machine
from combred.processes.threads import one_thread
from combred.processes.workers import Processes
from combred.reduction import Merge, Units
from combred.reduction.fit.calibration import relative_error
from combred.reduction.network.size import count_parameters
from combred.reduction.reduce import reduce
from combred.surrogates.model.calibration import gaussian_inputs
from combred.surrogates.model.network import Network, initialize
from combred.surrogates.model.surrogate import Surrogate
from combred.surrogates.training import loop as training
from combred.surrogates.training.batches import TrainingData
from combred.surrogates.training.devices import open_device
from combred.surrogates.training.validation_loss import ValidationLoss

RATIOS = (0.4, 0.1)
RETRAINING = TrainingSettings(steps=1000, lr=1.5e-3, batch=1024, batch_final=1024)
CASES = ValidationSettings(T0=[1500.0, 1600.0, 1700.0, 1800.0], p=[101325.0], burnt_time=5e-4)
CALIBRATION, TEST = 4096, 8192


def random_choice(units: Units, *, keep: int, seed: int = 0) -> Merge:
    """Units chosen at random: shows what compensation by least squares achieves alone."""
    order = torch.randperm(units.m, generator=torch.Generator().manual_seed(seed))
    return Merge.prune(order[:keep], units.m)


@dataclass(frozen=True)
class Row:
    """A line of the table: a method, its compensation, and its calibration data."""

    method: str
    compensation: str = "own"
    data: str = "states"  # "states", "Gaussian", or "none"

    @property
    def name(self) -> str:
        """The name of the row in the table."""
        return f"{self.method}, {self.compensation}, {self.data}"


ROWS = (
    *(Row(m, data="none") for m in ("magnitude", "neuron_merging", "condensation", "folding")),
    Row("channel_similarity"),
    Row("interpolative"),
    Row("brain_surgeon", "none"),
    Row("folding", "least_squares", "Gaussian"),
    Row("brain_surgeon", "least_squares", "Gaussian"),
    *(
        Row(m, "least_squares")
        for m in (
            *("random", "magnitude", "neuron_merging", "condensation", "channel_similarity"),
            *("folding", "interpolative", "brain_surgeon", "allocation"),
        )
    ),
    Row("scratch", "none", "none"),
)


class Table:
    """The rows of one network, measured one after another and stored in a file."""

    def __init__(self, run: Run, errors_only: bool):
        self.run, self.errors_only = run, errors_only
        self.surrogate = load_first(run)
        self.network = self.surrogate.network
        s, data = run.settings, load_data(run)
        self.table, self.held_out = data.table, data.held_out
        self.calibration = self.inputs(~self.held_out, CALIBRATION)
        self.test = self.inputs(self.held_out, TEST)
        self.path = run.path("reduction.json")
        self.measured_on = {
            "network": digest(run.weights(0)),
            "widths": self.network.widths,
            "calibration": CALIBRATION,
            "retraining": None if errors_only else RETRAINING.outcome,
            "machine": machine(),
        }
        stored, self.stamp = read_json(self.path), stamp(__file__)
        known = stored.get("measured_on") == self.measured_on and is_current(stored)
        self.rows = stored.get("rows", []) if known else []
        if errors_only:
            return
        self.loss = ValidationLoss(
            self.table, self.surrogate.transform, self.held_out, torch.device("cpu")
        )
        with progress("CVODE rollouts") as bar:
            cases = replace(CASES, dt=s.validation.dt)
            self.ignitions = Ignitions.of(run.mechanism, run.mixture, cases)
            self.references = self.ignitions.reference(Processes(run.workers, bar))

    def inputs(self, keep: np.ndarray, n: int) -> torch.Tensor:
        """Inputs of the network (n, n_inputs) for n states drawn from the rows `keep` (bool)."""
        rows = self.table.draw(keep, n, 1)
        state, dt = torch.from_numpy(rows.state()), torch.from_numpy(rows.dt)
        return self.surrogate.transform.inputs(state, dt)

    def measure(self, row: Row, ratio: float) -> dict:
        """One entry: the errors of a row at a ratio, before and after retraining."""
        with one_thread():
            begun = time.perf_counter()
            network = self.reduced(row, ratio)
            seconds = time.perf_counter() - begun
        entry = {
            "method": row.method, "compensation": row.compensation, "data": row.data,
            "ratio": ratio, "widths": network.widths, "weights": network.n_weights,
            "seconds": seconds, "error": relative_error(self.network, network, None, self.test),
        }  # fmt: skip
        if self.errors_only:
            return entry
        entry["before"] = self.judge(network)
        s = self.run.settings
        with tempfile.TemporaryDirectory() as folder:
            rows = TrainingData(self.table, self.surrogate.transform, self.held_out, s.seed)
            metrics = Path(folder) / "metrics.jsonl"
            training.train(network, rows, RETRAINING, metrics, open_device())
        entry["error_retrained"] = relative_error(self.network, network, None, self.test)
        entry["after"] = self.judge(network)
        return entry

    def reduced(self, row: Row, ratio: float) -> Network:
        """The network of a row, with the share `ratio` of every hidden layer."""
        if row.method == "scratch":
            fresh = Network(self.widths(ratio))
            initialize(fresh, [0.5] * len(fresh.layers), torch.Generator().manual_seed(0))
            return fresh
        how = {"compensation": row.compensation}
        if row.data != "none":
            how["calibration"] = (
                self.calibration
                if row.data == "states"
                else gaussian_inputs(self.surrogate.transform, CALIBRATION)
            )
        if row.method == "allocation":
            share = count_parameters(Network(self.widths(ratio))) / count_parameters(self.network)
            how |= {"method": "brain_surgeon", "parameters": share}
        else:
            random = functools.partial(random_choice, seed=0)
            how |= {"method": random if row.method == "random" else row.method, "ratio": ratio}
        return reduce(self.network, self.test[:1], **how).network

    def widths(self, ratio: float) -> list[int]:
        """The widths that keep the share `ratio` of every hidden layer."""
        widths = self.network.widths
        return [widths[0], *(max(1, round(ratio * m)) for m in widths[1:-1]), widths[-1]]

    def judge(self, network: Network) -> dict:
        """Validation loss and ignition errors of a network."""
        surrogate: Surrogate = copy.deepcopy(self.surrogate)
        surrogate.network = network
        with one_thread():
            rollouts = self.ignitions.follow(fastest(surrogate, alone=True), self.references)
        found = self.ignitions.compare(rollouts, self.references)
        return {
            "validation": self.loss(network)["validation"],
            "not_ignited": sum(not case["ignited"] for case in found["cases"]),
            "cases": len(found["cases"]),
            "delay_median": found["delay_error"]["median"],
            "delay_worst": found["delay_error"]["worst"],
            "burnt_T_worst": found["burnt_T_error"]["worst"],
        }

    def fill(self) -> None:
        """Measure the missing entries; the file is written after each."""
        done = {(e["method"], e["compensation"], e["data"], e["ratio"]) for e in self.rows}
        todo = [(row, ratio) for ratio in RATIOS for row in ROWS]
        with progress("reductions") as bar:
            for i, (row, ratio) in enumerate(todo):
                bar(i, len(todo))
                if (row.method, row.compensation, row.data, ratio) not in done:
                    self.rows.append(self.measure(row, ratio))
                    write_json(self.path, strict(self.result()))

    def result(self) -> dict:
        """The content of the file."""
        return {"measured_on": self.measured_on, "rows": self.rows} | self.stamp

    def print(self) -> None:
        """Print the table and the JSON line."""
        print(f"network {'-'.join(map(str, self.network.widths))}; "
              f"{self.measured_on['machine']}; calibration {CALIBRATION} states")  # fmt: skip
        for ratio in RATIOS:
            print(f"\n{100 * ratio:.0f} % of every hidden layer")
            for e in self.rows:
                if e["ratio"] == ratio:
                    print(self.line(e))
        print(json.dumps(strict(self.result())))

    def line(self, e: dict) -> str:
        """One row of the table, of an entry."""
        name = f"{e['method']}, {e['compensation']}, {e['data']}"
        text = f"  {name:46} {e['weights']:8,} {e['seconds']:7.2f} s  error {e['error']:.4f}"
        if "after" in e:
            before, after = e["before"], e["after"]
            text += (
                f"  {delay(before):>20}  retrained {e['error_retrained']:.4f} {delay(after):>20}"
            )
        return text


def delay(judged: dict) -> str:
    """Median and worst delay error, or the number of cases that do not ignite."""
    if judged["not_ignited"]:
        return f"{judged['not_ignited']} of {judged['cases']} not ignited"
    return f"{100 * judged['delay_median']:.2f} / {100 * judged['delay_worst']:.2f} %"


def main(arguments: list[str]) -> None:
    errors_only = arguments[:1] == ["--errors"]
    settings = replace(resolve(arguments[errors_only:]), stage=0)
    table = Table(prepare(settings), errors_only)
    table.fill()
    table.print()


if __name__ == "__main__":
    main(words(__doc__))
