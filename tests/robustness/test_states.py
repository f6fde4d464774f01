"""Hostile states and time steps: every door refuses them, doubts its answer, or is right."""

import itertools

import pytest

from benchmarks.hostile import states
from combred.native import NativeSurrogate, build, generate

pytestmark = pytest.mark.parametrize("mechanism", ["h2o2.yaml"], indirect=True, scope="session")
RANDOM = 3  # calls of 20 random states each


@pytest.fixture(scope="module")
def doors(surrogate, tmp_path_factory):
    """The doors of a surrogate; compiled C++ is one where QSS steps are corrected."""
    surrogate = surrogate.requires_grad_(False).eval()
    if not surrogate.kinetics:
        return states.doors(surrogate, None)
    library = build(generate(surrogate), tmp_path_factory.mktemp("native"), ("-O1",))
    return states.doors(surrogate, NativeSurrogate(library))


def test_all_doors_do_the_same_with_hostile_states(doors, mechanism, path):
    good = path.state.numpy()
    counts = states.attack(mechanism, doors, states.calls(good, path.dt, 0, RANDOM))
    assert counts.through == []
    assert counts.refused >= 5 * len(doors) and counts.harmless > counts.refused


def test_other_shapes_types_and_layouts_in_memory(doors, mechanism, path):
    good = path.state.numpy()[:17]
    counts = states.attack(mechanism, doors, states.memory(good, path.dt), agree=False)
    assert counts.through == [] and counts.refused > 8


def test_a_wrong_answer_would_be_seen(surrogate, mechanism, path):
    def hot(state, dt):
        return state * 1.01, 0.0 * dt

    def silent(state, dt):
        return state, dt * float("nan")

    for door in (hot, silent):
        call = itertools.islice(states.calls(path.state.numpy(), path.dt, 0, 0), 1, 2)
        counts = states.attack(mechanism, {"torch": door}, call)
        assert counts.wrong == 1, counts
