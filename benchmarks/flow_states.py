"""States of flows that no model trains on, labelled by CVODE at several time steps: how many does
each shipped model leave to its solver, and how many are bad?

    python -m benchmarks.flow_states draw --states FILE
    python -m benchmarks.flow_states judge --states FILE [MODEL ...]

Methane/air (DRM19), seven kinds of flows:

    counterflow             counterflow diffusion flames of 300 K streams, from 20 1/s to extinction
    counterflow hot air     the same with air at 1200 K
    hot products and CH4    lean products mixed with 0.5 to 30 % of methane, half of them aged
    burnt and fresh, aged   burnt and fresh premixed gas, mixed and aged by 1 us to 0.3 ms
    burnt and fresh         the same, just mixed: species that neither gas has form at once
    ignitions at 4 to 40 atm, ignitions at 0.5 to 2 atm    uniform in the steps of CVODE

and the 29 of `benchmarks.trust_states` around the range of `drm19-full`: other pressures, mixtures,
oxidizers and fuels, hotter and colder gas, perturbed and changed states, mixtures of two gases.

Labels at dt of 1e-8 to 1e-5 s, CVODE at rtol 1e-9 and atol 1e-18. FILE (HDF5) has the groups flows
and around, and in them one for each kind, with T [K], p [Pa], Y, and T_next, Y_next with one more
axis, dt [s], in front. Two minutes of one core.

`judge` advances them by the compiled model at the default tolerance. A state is solved if the
network left it to the solver; bad if T is off by more than 1 K plus 10 % of its change, or a Y by
more than 1e-4 plus 10 % of the largest change of one. Accepted, after DFODE-kit (Li et al. 2025):
an error of at most 1e-15 plus 10 % of the change, of each reactive species, and of all of them.
Writes benchmarks/results/flow_states.json; prints a table, then one JSON line.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cantera as ct
import h5py
import numpy as np

import combred
from benchmarks import trust_states
from benchmarks.command_line import MECHANISM, general_models
from benchmarks.extinction import strained_flames
from benchmarks.provenance import KEY, digest, stamp
from combred import native
from combred.chemistry.mechanism import Mechanism, load_mechanism
from combred.chemistry.reactor import IntegrationError, Reactor
from combred.config.data import SamplingSettings
from combred.experiments.counterflow.cantera_flame import CounterflowCase
from combred.experiments.ignition.rollout import Case, history
from combred.files.hdf5 import opened
from combred.files.records import write_json
from combred.processes.machine import machine
from combred.surrogates.files.card import SAMPLING
from combred.surrogates.model.surrogate import Surrogate

RESULTS = Path(__file__).parent / "results" / "flow_states.json"
FUEL, OXIDIZER, ATM = "CH4:1", "O2:1, N2:3.76", 101325.0
DT = (1e-8, 1e-7, 1e-6, 1e-5)  # s, of the labels
RTOL, ATOL = 1e-9, 1e-18  # of CVODE, for states and labels
SEED = 20
HALVINGS = 3  # of the step in strain before extinction
PER_IGNITION = 8  # states of one ignition
LONGEST, BURNT_TIME = 0.5, 2e-3  # s, end of an ignition, and time integrated after it
COUNTS = {
    "counterflow": 400,
    "counterflow hot air": 270,
    "hot products and CH4": 400,
    "burnt and fresh, aged": 400,
    "burnt and fresh": 400,
    "ignitions at 4 to 40 atm": 240,
    "ignitions at 0.5 to 2 atm": 300,
}

AROUND = "drm19-full"  # the model whose range the kinds of `trust_states` surround
COUNT_AROUND = 600  # states of each of them
BAD = 0.1, 1.0, 1e-4  # a larger error: share of the change, K, mass fraction

State = np.ndarray  # [T, p, Y], (2 + n_species,)


class FlowStates:
    """Draws states of each kind; a kind depends on the seed and its name alone."""

    def __init__(self, mechanism: Mechanism, seed: int = SEED):
        self.mechanism, self.seed = mechanism, seed
        self.reactor = Reactor(mechanism, RTOL, ATOL)
        self.rng = np.random.default_rng(seed)
        self._kinds: dict[str, Callable[[int], Iterator[State]]] = {
            "counterflow": lambda n: self._counterflow(CounterflowCase(FUEL, OXIDIZER), n),
            "counterflow hot air": lambda n: self._counterflow(
                CounterflowCase(FUEL, OXIDIZER, oxidizer_T=1200.0), n
            ),
            "hot products and CH4": lambda n: self._repeat(self._hot_products, n),
            "burnt and fresh, aged": lambda n: self._repeat(self._burnt_and_aged, n),
            "burnt and fresh": lambda n: self._repeat(self._burnt_and_fresh, n),
            "ignitions at 4 to 40 atm": lambda n: self._ignitions(
                (4 * ATM, 40 * ATM), (1000.0, 1800.0), (0.4, 2.5), n
            ),
            "ignitions at 0.5 to 2 atm": lambda n: self._ignitions(
                (0.5 * ATM, 2 * ATM), (1100.0, 2000.0), (0.3, 3.0), n
            ),
        }

    def draw(self, kind: str, count: int) -> np.ndarray:
        """`count` states of a kind, (count, 2 + n_species) [K, Pa, -], with Y >= 0 of sum 1."""
        self.rng = np.random.default_rng([self.seed, *kind.encode()])
        self.gas = self.mechanism.solution()  # an equilibrium begins at the last one's
        states = np.array(list(self._kinds[kind](count)))
        states[:, 2:] = states[:, 2:].clip(min=0.0)
        states[:, 2:] /= states[:, 2:].sum(1, keepdims=True)
        return states

    # -- kinds -----------------------------------------------------------------------------------

    def _counterflow(self, case: CounterflowCase, count: int) -> Iterator[State]:
        """States at and between grid points, as many of each flame: half of them uniform in the
        index of the grid, which is dense in the flame, half uniform in T between its streams and
        its peak, on a random side of the peak; a fifth of the states lie at a grid point."""
        flames = [
            (flame.T.copy(), flame.Y.T.copy())
            for flame in strained_flames(self.mechanism, case, halvings=HALVINGS)
        ]
        for i in range(count):
            T, Y = flames[i % len(flames)]
            where = self.rng.uniform(0, len(T) - 1)
            if self.rng.random() < 0.5:
                where = self._at_temperature(T)
            if self.rng.random() < 0.2:
                where = round(where)
            j = min(int(where), len(T) - 2)
            f = where - j
            yield np.array(
                [(1 - f) * T[j] + f * T[j + 1], case.p, *((1 - f) * Y[j] + f * Y[j + 1])]
            )

    def _at_temperature(self, T: np.ndarray) -> float:
        """The place, in grid points, of a random T on a random side of the peak."""
        peak, index = int(T.argmax()), np.arange(len(T))
        left = self.rng.random() < 0.5
        side, at = (
            (T[: peak + 1], index[: peak + 1]) if left else (T[peak:][::-1], index[peak:][::-1])
        )
        rise, first = np.unique(np.maximum.accumulate(side), return_index=True)
        return float(np.interp(self.rng.uniform(rise[0], rise[-1]), rise, at[first]))

    def _hot_products(self) -> State:
        """Products of phi 0.3 to 0.7 from fresh gas of 300 to 800 K, mixed with 0.5 to 30 % by mass
        of methane of 300 to 600 K at 1 atm; half of the states aged by 1 to 100 us."""
        rng, gas = self.rng, self.gas
        products = self._premixed(rng.uniform(0.3, 0.7), rng.uniform(300.0, 800.0), burnt=True)
        gas.TPX = rng.uniform(300.0, 600.0), ATM, FUEL
        state = self._mixed(products, (gas.h, gas.Y), self._log_uniform(0.005, 0.3))
        return self._aged(state, self._log_uniform(1e-6, 1e-4)) if rng.random() < 0.5 else state

    def _burnt_and_aged(self) -> State:
        """`_burnt_and_fresh`, aged by 1 us to 0.3 ms."""
        return self._aged(self._burnt_and_fresh(), self._log_uniform(1e-6, 3e-4))

    def _burnt_and_fresh(self) -> State:
        """Burnt and fresh gas, each of its own phi of 0.5 to 1.8 and fresh at 300 to 800 K, mixed
        at a uniform share at 1 atm."""
        rng = self.rng
        burnt = self._premixed(rng.uniform(0.5, 1.8), rng.uniform(300.0, 800.0), burnt=True)
        fresh = self._premixed(rng.uniform(0.5, 1.8), rng.uniform(300.0, 800.0), burnt=False)
        return self._mixed(burnt, fresh, rng.random())

    def _ignitions(
        self,
        p: tuple[float, float],
        T0: tuple[float, float],
        phi: tuple[float, float],
        count: int,
    ) -> Iterator[State]:
        """States of 0D ignitions, uniform in the steps of CVODE: p log-uniform [Pa], T0 uniform
        [K], phi log-uniform."""
        left = count
        while left > 0:
            case = Case(self.rng.uniform(*T0), self._log_uniform(*p), self._log_uniform(*phi))
            Y0 = self.mechanism.mixture(FUEL, OXIDIZER, case.phi)
            t, _ = history(self.reactor, case, Y0, LONGEST, BURNT_TIME)
            # Before the fifth step CVODE searches its step size, at the initial state.
            chosen = np.sort(self.rng.choice(np.arange(5, len(t)), min(PER_IGNITION, left), False))
            self.reactor.start(case.T0, case.p, Y0)
            for i in chosen:
                T, Y = self.reactor.advance(t[i])
                yield np.array([T, case.p, *Y])
                left -= 1

    # -- streams ---------------------------------------------------------------------------------

    def _repeat(self, make: Callable[[], State], count: int) -> Iterator[State]:
        for _ in range(count):
            yield make()

    def _log_uniform(self, low: float, high: float) -> float:
        return float(np.exp(self.rng.uniform(np.log(low), np.log(high))))

    def _premixed(self, phi: float, T: float, burnt: bool) -> tuple[float, np.ndarray]:
        """Specific enthalpy [J/kg] and mass fractions of premixed gas of T [K], or its products."""
        gas = self.gas
        gas.TP = T, ATM
        gas.set_equivalence_ratio(phi, FUEL, OXIDIZER)
        if burnt:
            gas.equilibrate("HP", rtol=1e-9)
        return gas.h, gas.Y

    def _mixed(
        self, one: tuple[float, np.ndarray], other: tuple[float, np.ndarray], share: float
    ) -> State:
        """The state of two streams at 1 atm, with the mass fraction `share` of the other."""
        (h, Y), (h_other, Y_other) = one, other
        self.gas.HPY = (1 - share) * h + share * h_other, ATM, (1 - share) * Y + share * Y_other
        return np.array([self.gas.T, ATM, *self.gas.Y])

    def _aged(self, state: State, t: float) -> State:
        """The state t [s] later by CVODE."""
        self.reactor.start(state[0], state[1], state[2:])
        T, Y = self.reactor.advance(t)
        return np.array([T, state[1], *Y])


def label(
    mechanism: Mechanism, states: np.ndarray, dt: tuple[float, ...] = DT
) -> tuple[np.ndarray, np.ndarray]:
    """T (n_dt, n) [K] and Y (n_dt, n, n_species) of states (n, 2 + n_species), at each of the
    ascending dt [s] later by one integration of CVODE; NaN where it fails."""
    reactor = Reactor(mechanism, RTOL, ATOL)
    T = np.full((len(dt), len(states)), np.nan)
    Y = np.full((len(dt), len(states), mechanism.n_species), np.nan)
    for i, state in enumerate(states):
        try:
            reactor.start(state[0], state[1], state[2:])
            for j, t in enumerate(dt):
                T[j, i], Y[j, i] = reactor.advance(t)
        except IntegrationError:
            pass  # the rest stays NaN, and the state is left out
    return T, Y


def range_of(model: str) -> SamplingSettings:
    """The sampling settings that a shipped model was trained with."""
    made = combred.models()[model]["training"]["sampling"]
    return SamplingSettings(**{key: made[key] for key in SAMPLING})


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


def drawn(
    mechanism: Mechanism, counts: dict[str, int], around: int, seed: int
) -> Iterator[tuple[str, str, np.ndarray]]:
    """Group, kind and states: `counts` states of each kind of flows; `around` of each kind of
    `trust_states`, if any."""
    for kind, count in counts.items():
        yield "flows", kind, FlowStates(mechanism, seed).draw(kind, count)
    if around:
        kinds = trust_states.draw(mechanism, range_of(AROUND), around, seed)
        yield from (("around", kind, states) for kind, states in kinds.items())


def write(
    path: Path, mechanism: Mechanism, counts: dict[str, int], around: int = 0, seed: int = SEED
) -> dict:
    """Draw, label and store the states of all kinds (`drawn`) at `path`; returns the number of
    states, of failed labels and the seconds of each kind."""
    summary = {}
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        file.attrs.update(
            mechanism=mechanism.name,
            mechanism_sha256=mechanism.sha256,
            species=list(mechanism.species_names),
            reactor="adiabatic, constant pressure",
            units=json.dumps({"T": "K", "p": "Pa", "Y": "1", "dt": "s"}),
            seed=seed, rtol=RTOL, atol=ATOL,
            cantera=ct.__version__,
        )  # fmt: skip
        file.attrs[KEY] = digest(__file__, "chemistry", "experiments")
        begun = time.monotonic()
        for name, kind, states in drawn(mechanism, counts, around, seed):
            T, Y = label(mechanism, states)
            good = np.isfinite(T).all(0) & np.isfinite(Y).all((0, 2))
            group = file.create_group(f"{name}/{kind}")
            columns = {"T": states[good, 0], "p": states[good, 1], "Y": states[good, 2:]}
            columns |= {"T_next": T[:, good], "Y_next": Y[:, good], "dt": np.array(DT)}
            for name, values in columns.items():
                group[name] = values
            summary[kind] = {
                "states": int(good.sum()),
                "failed": int((~good).sum()),
                "seconds": time.monotonic() - begun,
            }
            print(f"{kind:42} {summary[kind]}", flush=True)
            begun = time.monotonic()
    return summary


def read(path: Path, name: str = "flows") -> dict[str, dict[str, np.ndarray]]:
    """The arrays of each kind of one group, flows or around, in a file that `write` made. Raises
    ValueError where other code drew them."""
    with opened(path) as file:
        if file.attrs.get(KEY) != digest(__file__, "chemistry", "experiments"):
            raise ValueError(f"{path}: other code drew these states: draw them again")
        kinds = file.get(name, {})
        return {kind: {key: data[()] for key, data in kinds[kind].items()} for kind in kinds}


def judge(surrogate: Surrogate, states: dict[str, dict[str, np.ndarray]]) -> dict:
    """The shares of each kind of states and each dt: solved, bad, accepted components and whole
    states; largest error of T."""
    rows: dict = {}
    compiled = native.compile(surrogate)
    reactive = 2 + np.flatnonzero(~surrogate.closure.inert.numpy())
    for kind, part in states.items():
        before = np.column_stack([part["T"], part["p"], part["Y"]])
        for i, dt in enumerate(part["dt"]):
            found = compiled.attempt(part["T"], part["p"], part["Y"], dt)
            after = np.column_stack([found.T, found.p, found.Y])
            exact = np.column_stack([part["T_next"][i], part["p"], part["Y_next"][i]])
            error, change = np.abs(after - exact), np.abs(exact - before)
            accepted = error[:, reactive] <= 1e-15 + 0.1 * change[:, reactive]
            rows.setdefault(kind, {})[f"{dt:g}"] = {
                "solved": float((found.steps > 0).mean()),
                "bad": float(is_bad(before, after, exact, BAD).mean()),
                "accepted_components": float(accepted.mean()),
                "accepted_states": float(accepted.all(1).mean()),
                "largest_T_error": float(error[:, 0].max(initial=0.0)),
            }
    return rows


def show(model: str, found: dict) -> None:
    """Print the table of a model."""
    print(f"\n{model:42}{'dt':>6}{'solved':>9}{'bad':>7}{'accepted':>14}")
    for kind, rows in found.items():
        for dt, row in rows.items():
            accepted = f"{row['accepted_components']:.0%} / {row['accepted_states']:.0%}"
            print(f"{kind:42}{float(dt):6.0e}{row['solved']:9.1%}{row['bad']:7.1%}{accepted:>14}")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.flow_states",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("action", choices=["draw", "judge"])
    parser.add_argument("--states", type=Path, required=True, metavar="FILE")
    parser.add_argument("models", nargs="*", help="names of shipped models, or paths; default: all")
    given = parser.parse_intermixed_args()
    ct.suppress_thermo_warnings()
    if given.action == "judge":
        chosen = given.models or general_models()
        result: dict = {"machine": machine(), "models": {}, "around": {}}
        flows, around = read(given.states), read(given.states, "around")
        for model in chosen:
            made = stamp(__file__) if not given.models else {}
            surrogate = combred.load(model).requires_grad_(False)
            for name, states in (("models", flows), ("around", around)):
                found = judge(surrogate, states)
                show(model, found)
                result[name][model] = found | made
        if not given.models:
            write_json(RESULTS, result)
        print(json.dumps(result))
        return
    print(json.dumps(write(given.states, load_mechanism(MECHANISM), COUNTS, COUNT_AROUND)))


if __name__ == "__main__":
    main()
