"""A first stage for large mechanisms: a directed relation graph with error propagation (DRGEP)
takes out what no case needs.

Takes the detailed mechanism and the judged ignitions; gives a skeleton within a small share of the
limit, which is then compiled and searched. Pepiot-Desjardins & Pitsch, Combust. Flame 154, 2008,
equations 5 to 9.
"""

import heapq

import numpy as np

from combred.chemistry.equilibrium import equilibrium
from combred.chemistry.stepper import Advance
from combred.skeletal.cases import ATM, Ranges, states
from combred.skeletal.delays import LATEST
from combred.skeletal.judging import worst
from combred.skeletal.large import Detailed
from combred.skeletal.skeleton import ReactionNetwork, Skeleton

SHARE = 0.1  # of the limit: the largest error of a delay that the graph may make
SAMPLES, PAST = 20, 1.5  # states of an ignition; their last time, in delays
CHANGED = 0.01  # mass fraction by which targets change from unburnt to burnt gas
Ignitions = tuple[np.ndarray, np.ndarray, np.ndarray]  # T (n,) [K], p (n,) [Pa], Y (n, n_species)


def targets(network: ReactionNetwork, of: Ranges) -> list[int]:
    """The species from which the graph begins: those of which a stoichiometric flame consumes or
    makes most, fuel, oxygen, and the products that stand for its heat."""
    mechanism = network.mechanism
    T, p, Y = states(mechanism, of, [(of.T0[0], ATM, 1.0)])
    burnt = equilibrium(mechanism.solution(transport=False), T, p, Y)[1]
    return np.flatnonzero(np.abs(burnt - Y)[0] > CHANGED).tolist()


def importance(
    network: ReactionNetwork, solver: Advance, begin: Ignitions, delay: np.ndarray, of: list[int]
) -> np.ndarray:
    """(n_species,): the largest product of interaction coefficients on a path from one of the
    targets, over states along ignitions with their delays (n,) [s]."""
    from scipy.sparse import csr_matrix

    gas = network.mechanism.solution(transport=False)
    made, used = gas.product_stoich_coeffs, gas.reactant_stoich_coeffs
    nu, takes_part = csr_matrix(made - used), csr_matrix(((made + used) > 0.0).astype(float).T)
    (T, p, Y), dt = begin, PAST * delay / SAMPLES
    found = np.zeros(gas.n_species)
    for _ in range(SAMPLES):
        T, Y = solver.advance(T, p, Y, dt)
        for i in range(len(T)):
            gas.TPY = T[i], p[i], Y[i]
            flows = nu.multiply(gas.net_rates_of_progress[None]).tocsr()
            gained, lost = (np.asarray((sign * flows).maximum(0.0).sum(axis=1)) for sign in (1, -1))
            scale = np.maximum(gained, lost).ravel()
            found = np.maximum(found, _from_targets(flows @ takes_part, scale, of))
    return found


def _from_targets(shared, scale: np.ndarray, of: list[int]) -> np.ndarray:
    """The importance (n_species,) in one state; shared (n_species, n_species): the rate of each
    species in the reactions of another, and scale (n_species,): its production or consumption."""
    best = np.zeros(len(scale))
    queue = [(-1.0, k) for k in of]
    while queue:  # Dijkstra: the largest product first
        value, k = heapq.heappop(queue)
        if -value <= best[k] or not scale[k] > 0.0:
            continue
        best[k] = -value
        part = slice(*shared.indptr[k : k + 2])
        for other, rate in zip(shared.indices[part], shared.data[part], strict=True):
            product = -value * min(abs(rate) / scale[k], 1.0)
            if product > best[other]:
                heapq.heappush(queue, (-product, int(other)))
    return best


def base_of(
    network: ReactionNetwork,
    detailed: Detailed,
    known: tuple[Ignitions, np.ndarray, np.ndarray],
    of: list[int],
    stay: frozenset[int],
    limit: float,
) -> Skeleton:
    """The smallest skeleton in the order of importance whose delays are within a `SHARE` of the
    limit, by bisection. known: the ignitions, T [K] at half their rise, and their delays [s]."""
    begin, half, delay = known
    worth = importance(network, detailed.march(SAMPLES), begin, delay, of)
    order = [k for k in np.argsort(worth).tolist() if k not in stay]
    low, high, found = 0, len(order), network.whole()
    while high - low > 1:
        middle = (low + high) // 2
        smaller = network.whole().without(*order[:middle])
        times = detailed.delays_of(smaller, begin, half, LATEST * delay)
        if worst(times / delay - 1.0) <= SHARE * limit:
            low, found = middle, smaller
        else:
            high = middle
    return found
