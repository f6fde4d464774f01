"""Does `Surrogate.trust` of networks of the state alone find the wrong predictions?

    python -m benchmarks.trust [MODEL ...]

MODEL: the name of a shipped model that sees the state alone, or the path of a stageN.safetensors in
its run folder; without it, all such models that combred ships. One step is taken from 600 states of
each of 29 kinds (`trust_states`): states as in training (other ignitions, flames, perturbations);
other pressures, mixtures, fuels, oxidizers, temperatures and wider perturbations than in training;
radicals removed, or added to cold gas; and mixtures of two gases. The reference is CVODE. A
prediction is bad if the error of T exceeds a share of CVODE's change of T plus a floor, or if the
largest error of a mass fraction exceeds that share of the largest change plus a floor:

    coarse    25 %, 5 K, 5e-4        the flame would be another one
    usual     10 %, 1 K, 1e-4
    strict     5 %, 0.2 K, 2e-5

The change over dt is the source term times dt, so the share is also that of heat release and source
term. For each rule the table gives the share of bad predictions that are refused ("caught"), the
share of good ones that are refused, and the share of bad ones among the trusted, which depends on
the states that are drawn. Rules: `in_training_range` (range of the training states and Mahalanobis
distance); the closure's correction over its tolerance alone (at most 1, for any state); and trust,
which is both. The table also gives the ROC of the limit on the error estimate. Writes
benchmarks/results/trust.json after each shipped model (benchmarks/cache/trust.json for other
files); prints a table, then one JSON line.
"""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import cantera as ct
import numpy as np
import torch

import combred
from benchmarks.accuracy import CACHE, label, path_of
from benchmarks.command_line import words
from benchmarks.trust_states import draw
from benchmarks.trust_states import label as by_cvode
from combred.chemistry.mechanism import Mechanism
from combred.config import SamplingSettings
from combred.records import digest, read_json, strict, write_json
from combred.surrogate.forms import StateSurrogate
from combred.surrogate.shipped import FOLDER
from combred.surrogate.storage import mechanism_of
from combred.surrogate.surrogate import Surrogate
from combred.threads import one_thread
from combred.validation import timing

RESULTS = Path(__file__).parent / "results" / "trust.json"
COUNT, SEED = 600, 1
BAD = {"coarse": (0.25, 5.0, 5e-4), "usual": (0.1, 1.0, 1e-4), "strict": (0.05, 0.2, 2e-5)}
# Of the closure's correction.
TOLERANCES = [StateSurrogate.SHARE, StateSurrogate.FLOOR_Y, StateSurrogate.FLOOR_T]
LIMITS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
PRESSURES = (0.1, 0.2, 0.4, 0.9, 1.1, 2.5, 5.0, 20.0)  # atm, edges
AS_TRAINED = "as trained"


# -- states and their labels -----------------------------------------------------------------------


def trained_with(model: str) -> SamplingSettings:
    """The sampling settings of a model: from its card, or from settings.json beside its file."""
    path = path_of(model)
    if path.parent == FOLDER:
        settings = combred.models()[path.stem]["training"]
    else:
        settings = read_json(path.parent / "settings.json")
    if "sampling" not in settings:
        raise FileNotFoundError(f"{path.parent}/settings.json does not say how {path} was trained")
    return SamplingSettings(**settings["sampling"])


def asked(
    mechanism: Mechanism, trained: SamplingSettings, dt: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States, the states dt later by CVODE, both (n, 2 + n_species), and their kinds (n,); from the
    cache if their inputs have not changed."""
    inputs = {
        "mechanism": mechanism.sha256,
        "cantera": ct.__version__,
        "dt": dt,
        "count": COUNT,
        "seed": SEED,
        "trained": asdict(trained),
        "made_by": digest(Path(__file__).with_name("trust_states.py")),
    }
    name = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]
    path = CACHE / f"trust-{name}.npz"
    if not path.exists():
        kinds = draw(mechanism, trained, COUNT, SEED)
        state = np.concatenate(list(kinds.values()))
        later = by_cvode(mechanism, dt, state)
        kind = np.repeat(list(kinds), [len(states) for states in kinds.values()])
        good = np.isfinite(later).all(1)
        CACHE.mkdir(exist_ok=True)
        np.savez(path, state=state[good], later=later[good], kind=kind[good])
    stored = np.load(path)
    return stored["state"], stored["later"], stored["kind"]


# -- judgement -------------------------------------------------------------------------------------


def is_bad(
    state: np.ndarray, predicted: np.ndarray, later: np.ndarray, limits: tuple[float, float, float]
) -> np.ndarray:
    """(n,) bool: the error of `predicted` against CVODE's `later` exceeds the limits (share, K,
    mass fraction). state, predicted, later: (n, 2 + n_species)."""
    share, floor_T, floor_Y = limits
    change, error = np.abs(later - state), np.abs(predicted - later)
    off_T = error[:, 0] > share * change[:, 0] + floor_T
    off_Y = error[:, 2:].max(1) > share * change[:, 2:].max(1) + floor_Y
    return off_T | off_Y | ~np.isfinite(error).all(1)


def counts(trusted: np.ndarray, bad: np.ndarray) -> dict:
    """Shares: bad; trusted; refused of the bad; refused of the good; bad among the trusted."""

    def share(of: np.ndarray, among: np.ndarray) -> float:
        return float(of[among].mean()) if among.any() else np.nan

    everyone = np.ones(len(bad), bool)
    return {
        "bad": share(bad, everyone),
        "trusted": share(trusted, everyone),
        "caught": share(~trusted, bad),
        "good_refused": share(~trusted, ~bad),
        "bad_among_trusted": share(bad, trusted),
    }


def roc_area(score: np.ndarray, bad: np.ndarray) -> float:
    """Probability that a bad state has a higher score than a good one; ties count half."""
    if bad.all() or not bad.any():
        return np.nan
    _, which, size = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(size) - 0.5 * (size - 1))[which]
    n = bad.sum()
    return float((rank[bad].sum() - n * (n + 1) / 2) / (n * (len(bad) - n)))


def scores(surrogate: Surrogate, state: np.ndarray) -> dict[str, np.ndarray]:
    """Of each state: the prediction, the closure's correction over its tolerance, the squared
    Mahalanobis distance, whether it is in the training range, and the error estimate, which is
    that correction, infinite outside the training range."""
    x = torch.from_numpy(state)
    dt = x.new_full((len(x),), surrogate.dt_range[0])
    with torch.no_grad(), one_thread():
        predicted, error = surrogate.step(x, dt)
        features = surrogate.transform.features(surrogate.transform.variables(x))
        distance = ((features @ surrogate.inverse_covariance) * features).sum(1)
        found = {
            "predicted": predicted,
            "moved": error / surrogate.TOLERANCE,
            "distance": distance,
            "in_training_range": surrogate.in_training_range(x),
            "error_estimate": surrogate.next_state_and_error(x, dt)[1],
        }
    return {name: value.numpy() for name, value in found.items()}


def judge(model: str) -> dict:
    """All numbers of one model."""
    surrogate = combred.load(model)
    mechanism = mechanism_of(path_of(model))
    if surrogate.kinetics:
        raise ValueError(f"{model} corrects QSS steps: see benchmarks/flow_states.py")
    state, later, kind = asked(mechanism, trained_with(model), surrogate.dt_range[0])
    s = scores(surrogate, state)
    bad = {name: is_bad(state, s["predicted"], later, limits) for name, limits in BAD.items()}
    rules = {
        "in_training_range": s["in_training_range"],
        "closure": s["moved"] <= 1.0,
        "trust": s["error_estimate"] <= 1.0,
    }
    known = np.char.startswith(kind, AS_TRAINED)
    off_T = np.abs(s["predicted"][:, 0] - later[:, 0])

    def over(rows: np.ndarray, names: tuple[str, ...] = ("usual",)) -> dict:
        """The counts of each rule over some of the rows."""
        return {
            rule: {name: counts(trusted[rows], bad[name][rows]) for name in names}
            | {"largest_T_error": float(off_T[rows & trusted].max(initial=0.0))}
            for rule, trusted in rules.items()
        }

    atm = state[:, 1] / 101325.0
    pressures = known | np.char.startswith(kind, "pressure")
    bands = {
        f"{a:g} to {b:g} atm": pressures & (atm >= a) & (atm < b)
        for a, b in zip(PRESSURES[:-1], PRESSURES[1:], strict=True)
    }
    return {
        "model": label(model),
        "weights": surrogate.network.n_weights,
        "file": digest(path_of(model)),
        "states": len(state),
        "all": over(np.ones(len(state), bool), tuple(BAD)),
        "as trained": over(known, tuple(BAD)),
        "beyond": over(~known, tuple(BAD)),
        "kinds": {str(name): over(kind == name) for name in dict.fromkeys(kind)},
        "pressures": {name: over(rows) for name, rows in bands.items() if rows.sum() >= 50},
        "roc_area": {
            score: {name: roc_area(s[score], b) for name, b in bad.items()}
            for score in ("moved", "distance")
        },
        "roc": {
            str(limit): {name: counts(s["error_estimate"] <= limit, b) for name, b in bad.items()}
            for limit in LIMITS
        },
    }


# -- the script ------------------------------------------------------------------------------------


def line(name: str, found: dict) -> str:
    """One row of the table, of predictions that are bad by the limits "usual": pairs of the rule
    `in_training_range` and trust."""

    def percent(value: float) -> str:
        return f"{100 * value:5.1f}" if np.isfinite(value) else "    -"

    by_range, by_trust = found["in_training_range"]["usual"], found["trust"]["usual"]
    keys = ("trusted", "caught", "good_refused", "bad_among_trusted")
    pairs = "  ".join(f"{percent(by_range[k])} {percent(by_trust[k])}" for k in keys)
    return (
        f"  {name:43} {percent(by_trust['bad'])}  {pairs} "
        f" {found['in_training_range']['largest_T_error']:6.1f}"
        f" {found['trust']['largest_T_error']:6.1f} K"
    )


def show(row: dict) -> None:
    """Print the table of one model."""
    print(f"\n{row['model']} ({row['weights']:,} weights), {row['states']} states, in %; pairs: in"
          " training range, trust")  # fmt: skip
    print(
        f"  {'':43}   bad    trusted       caught     good refused  bad of trusted  largest error"
    )
    for name in ("as trained", "beyond", "all"):
        print(line(name, row[name]))
    for group in ("kinds", "pressures"):
        for name, found in row[group].items():
            print(line(name, found))
    print("  limit of the error estimate: caught of coarse, usual, strict; good (usual) refused;"
          " bad of trusted")  # fmt: skip
    for limit, found in row["roc"].items():
        caught = " ".join(f"{100 * found[name]['caught']:5.1f}" for name in BAD)
        usual = found["usual"]
        print(f"  {limit:>5}: {caught}; {100 * usual['good_refused']:5.1f};"
              f" {100 * usual['bad_among_trusted']:5.2f}")  # fmt: skip
    for score, areas in row["roc_area"].items():
        print(f"  area under the ROC, {score}: {', '.join(f'{v:.3f}' for v in areas.values())}")


def known(file: str, settings: dict) -> dict | None:
    """The row of this file, under any name."""
    for store in (RESULTS, CACHE / "trust.json"):
        stored = read_json(store)
        if all(stored.get(key) == value for key, value in settings.items()):
            found = [row for row in stored.get("rows", []) if row["file"] == file]
            if found:
                return found[0]
    return None


def main(models: list[str]) -> None:
    shown = []
    alone = [name for name, card in combred.models().items() if not card["network"]["kinetics"]]
    for model in models or alone:
        own = path_of(model).parent == FOLDER
        store = RESULTS if own else CACHE / "trust.json"
        settings = {"seed": SEED, "count": COUNT, "bad": strict(BAD), "limits": TOLERANCES}
        stored = read_json(store)
        same = all(stored.get(key) == value for key, value in settings.items())
        rows = {row["model"]: row for row in stored.get("rows", [])} if same else {}
        file = digest(path_of(model))
        if rows.get(label(model), {}).get("file") != file:
            row = known(file, settings) or strict(judge(model))
            rows[label(model)] = row | {"model": label(model)}
            kept = [name for name in alone if name in rows] if own else sorted(rows)
            machine = {"machine": timing.machine(), **settings}
            write_json(store, {**machine, "rows": [rows[name] for name in kept]})
        shown.append(rows[label(model)])
        show(nan_back(shown[-1]))
    print(json.dumps({"machine": timing.machine(), **settings, "rows": shown}))


def nan_back(row: dict) -> dict:
    """A row as `strict` wrote it, with NaN where it has null."""
    return json.loads(json.dumps(row), object_hook=lambda d: {
        k: np.nan if v is None else v for k, v in d.items()
    })  # fmt: skip


if __name__ == "__main__":
    main(words(__doc__))
