"""States of flame kernels with sensitivities: their means are those of a known error."""

from dataclasses import replace

import numpy as np
import pytest
from hydrogen import AIR, SENSITIVE

from combred.chemistry.reactor import IntegrationError
from combred.native.solver.library import PRECISE, Solver
from combred.surrogates.sensitivity import flame_kernel
from combred.surrogates.sensitivity.sampling import flame_kernels as module
from combred.surrogates.sensitivity.sampling.flame_kernels import kernel_states

SAMPLING = replace(SENSITIVE, oxidizer=AIR, dt=[1e-8, 1e-7])


def drawn(mechanism, seed, sampling=SAMPLING):
    by = Solver(mechanism, PRECISE)
    return kernel_states(mechanism, sampling, by, np.random.default_rng(seed))


def test_chemistry_that_is_too_fast_changes_the_masses_as_the_sensitivities_say(h2o2, monkeypatch):
    """Errors that are a share of the change are those of chemistry with a longer dt."""
    for name, value in dict(CELLS=12, BURNT=(3, 5), STEPS=60, TIMES=60, WEIGHT=1.0).items():
        monkeypatch.setattr(module, name, value)
    seen = []
    march = module.march
    monkeypatch.setattr(module, "march", lambda *a: seen.append(a) or march(*a))
    chosen = []
    inner = module.mass_sensitivities
    monkeypatch.setattr(
        module, "mass_sensitivities", lambda m, e, dt, k: chosen.append(k) or inner(m, e, dt, k)
    )
    rows = drawn(h2o2, 3)
    change = (rows.sensitivity * (rows.Y_next - rows.Y)).sum(axis=1) / rows.dt
    found = [change[rows.trajectory == q].mean() for q in range(module.SPECIES)]

    solver, gas, kernel, dt, steps = seen[0]
    reacted = flame_kernel.reacted

    def masses(share):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                flame_kernel, "reacted", lambda s, g, k, t: reacted(s, g, k, (1 + share) * t)
            )
            return march(solver, gas, kernel, dt, steps)[-1].Y[:, chosen[0]].sum(axis=0)

    exact = (np.log(masses(0.02)) - np.log(masses(-0.02))) / 0.04
    # 60 random times, with steps shorter than those of the march.
    assert found == pytest.approx(exact, rel=0.25, abs=0.01)
    assert np.abs(exact).max() > 0.05


def test_states_are_physical_and_of_the_ranges(h2o2):
    rows = drawn(h2o2, 0)
    assert all(np.isfinite(column).all() for column in rows.columns().values())
    assert rows.Y.min() >= 0 and rows.Y.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
    assert len(set(rows.p)) == 1 and 8e4 <= rows.p[0] <= 1.5e5
    assert np.all((rows.dt >= 1e-8) & (rows.dt <= 1e-7))
    assert set(rows.trajectory) == set(range(module.SPECIES))
    assert len(set(rows.dt)) == module.TIMES


def test_a_time_step_longer_than_a_kernel_s_is_refused(h2o2):
    with pytest.raises(IntegrationError, match="too long for a flame kernel"):
        drawn(h2o2, 0, replace(SAMPLING, dt=[1e-3, 1e-2]))


def test_a_gas_that_forms_nothing_is_refused(h2o2):
    fresh = h2o2.mixture(SAMPLING.fuel, AIR, 1.0)
    same = flame_kernel.FlameKernel(1e5, 1.0, np.zeros(3), np.tile(fresh, (3, 1)))
    with pytest.raises(IntegrationError, match="forms nothing"):
        module._formed([same, same], fresh)
