"""The loss of delays, speeds and peaks against the errors of a surrogate's own steps."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from combred.surrogates.model.element_projection import ElementProjection
from combred.surrogates.model.forms import make_surrogate
from combred.surrogates.sensitivity.rows import SensitiveStates
from combred.surrogates.training import loop
from combred.surrogates.training import sensitivity_loss as module
from combred.surrogates.training.batches import TrainingData
from combred.surrogates.training.sensitivity_loss import SensitivityLoss

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def states(path, mechanism):
    """The states of an ignition, with random sensitivities that are larger for radicals."""
    rng = np.random.default_rng(0)
    sensitivity = 1e-6 * rng.normal(size=path.Y.shape) / (np.abs(path.Y) + 1e-4)
    n, dt = len(path.T), np.full(len(path.T), path.dt)
    which = np.zeros(n, "i4")
    return SensitiveStates(path.T, path.p, path.Y, dt, path.T_next, path.Y_next, sensitivity, which)


@pytest.fixture(scope="module")
def loss(states, qss_transform, mechanism):
    return SensitivityLoss(states, qss_transform, mechanism, CPU, seed=0)


def test_the_errors_are_those_of_the_surrogate_s_steps(
    loss, states, qss_transform, mechanism, make_network, path
):
    """An answer that is wrong by 1 %: the linear error is that of the step, closure and all."""
    network = make_network([qss_transform.n_inputs, 4, qss_transform.n_outputs])
    surrogate = make_surrogate(mechanism, qss_transform, network)
    rng = np.random.default_rng(1)
    wrong = 1.0 + 0.01 * torch.tensor(rng.normal(size=loss.z.shape)).float()
    answer = torch.cat([loss.z * wrong, torch.zeros(len(loss.z), 1)], dim=1)
    surrogate.network.forward = lambda x: answer
    with torch.no_grad():
        later = surrogate.step(path.state, path.steps)[0][:, 2:].numpy()
        right = torch.cat([loss.z, torch.zeros(len(loss.z), 1)], dim=1)
        surrogate.network.forward = lambda x: right
        exact = surrogate.step(path.state, path.steps)[0][:, 2:].numpy()
        found = loss.errors(answer, torch.arange(len(loss.z))).numpy()
    expected = (states.sensitivity * (later - exact)).sum(axis=1) / states.dt
    # Of first order in changes of 3 % (the cube of 1 %); the cube root's float32 adds 1e-4.
    assert found == pytest.approx(expected, abs=0.05 * np.abs(expected).max())
    assert np.abs(expected).max() > 1e-4
    assert float(loss(answer, torch.arange(len(loss.z)))) == pytest.approx(
        module.WEIGHT * np.abs(found).clip(max=1.0).mean(), rel=1e-4
    )


def test_the_rows_of_a_step_depend_on_seed_and_step_alone(loss, states, qss_transform, mechanism):
    assert torch.equal(loss.rows(3, 400), loss.rows(3, 400))
    assert len(loss.rows(3, 400)) == 400 // module.SHARE and len(loss.rows(0, 1)) == 1
    assert not torch.equal(loss.rows(3, 400), loss.rows(4, 400))
    other = SensitivityLoss(states, qss_transform, mechanism, CPU, seed=1)
    assert not torch.equal(loss.rows(3, 400), other.rows(3, 400))
    assert other.digest == loss.digest


def test_inert_species_and_conserved_elements_have_no_sensitivity(loss, states, mechanism):
    assert loss.w[:, 2:][:, torch.tensor(mechanism.inert)].abs().max() == 0.0
    # A sensitivity to the elements alone: the closure undoes every error of theirs.
    elements = torch.from_numpy(np.repeat(mechanism.elements[:1], len(states.T), axis=0))
    projection = ElementProjection(mechanism)
    Y, later = torch.from_numpy(states.Y), torch.from_numpy(states.Y_next)
    through = module._through_closure(elements, later, Y, projection)
    assert float(through.abs().max()) < 1e-6


ON_DRM19 = pytest.mark.parametrize("mechanism", ["drm19.yaml"], indirect=True)


@pytest.fixture
def fit(training, qss_transform, states, mechanism, tmp_path):
    """A function that trains a network that corrects QSS steps, with the loss or without."""
    rows = replace(states, sensitivity=1e-5 / (np.abs(states.Y) + 1e-4))
    loss = SensitivityLoss(rows, qss_transform, mechanism, CPU, seed=0)
    widths = [qss_transform.n_inputs, 12, qss_transform.n_outputs]
    corrected = replace(training, transform=qss_transform, widths=widths)

    def trained(name, with_loss=True, stop=10**9):
        network = corrected.network()

        def watch(done, steps, text):
            if done >= stop:
                raise training.killed

        data = TrainingData(
            corrected.table, qss_transform, corrected.held_out, 0, loss if with_loss else None
        )
        loop.train(network, data, corrected.settings, tmp_path / name, corrected.device, watch)
        return network

    trained.loss = loss
    return trained


@pytest.mark.slow
@ON_DRM19
def test_it_becomes_smaller_where_it_is_trained_on(fit):
    found, rows = [], torch.arange(len(fit.loss.x))
    for with_loss in (True, False):
        network = fit(f"{with_loss}.jsonl", with_loss)
        with torch.no_grad():
            found.append(float(fit.loss(network(fit.loss.x), rows)))
    assert found[0] < 0.8 * found[1]


@ON_DRM19
def test_a_checkpoint_of_a_training_without_it_is_refused(fit, training):
    with pytest.raises(training.killed):
        fit("m.jsonl", with_loss=False, stop=21)
    with pytest.raises(ValueError, match="run=NAME"):
        fit("m.jsonl")
