"""The grid that moves with a flame: its front, its cells, and their chemistry."""

import numpy as np
import pytest
from hydrogen import FLAME_DT, solver

from combred.experiments.premixed.grid import MovingGrid


@pytest.mark.parametrize("cells", [1, 2, 7])
def test_the_grid_moves_by_whole_cells(h2o2, begin, cells):
    grid = MovingGrid(h2o2, begin)
    T, Y, h = grid.T.copy(), grid.Y.copy(), grid.h.copy()
    assert grid.move() == 0.0 and grid.entered == 0
    for now, then in ((grid.T, T), (grid.Y, Y), (grid.h, h)):
        now[:-cells] = then[cells:]  # the front moves to the left, burnt gas follows
    passed = grid.move()
    assert passed == pytest.approx(cells * begin.cell_mass, rel=1e-12)
    assert grid.entered == cells
    assert np.array_equal(grid.T[cells:], T[cells:])  # exactly: nothing is interpolated
    assert np.array_equal(grid.Y[cells:], Y[cells:])
    assert np.array_equal(grid.h[cells:], h[cells:])
    assert np.all(grid.T[:cells] == 300.0) and np.all(grid.Y[:cells] == begin.unburnt)
    unburnt = grid.diffusion.enthalpy(np.array([300.0]), begin.unburnt[None])[0]
    assert np.all(grid.h[:cells] == unburnt)
    assert grid.move() == pytest.approx(passed, rel=1e-12)  # nothing more to move


def test_the_front_is_located_between_cells(h2o2, begin):
    grid = MovingGrid(h2o2, begin)
    at, fine = grid.front(), np.linspace(0, 59, 60)
    for part in (0.25, 0.5):
        grid.T = np.interp(fine + part, fine, begin.T)
        assert at - grid.front() == pytest.approx(part, abs=0.08)
        assert grid.move() == pytest.approx(part * begin.cell_mass, abs=0.08 * begin.cell_mass)
        assert grid.entered == 0


def test_enthalpy_does_not_depend_on_the_temperature_of_the_solver(h2o2, begin):
    grid = MovingGrid(h2o2, begin)
    h, T = grid.h.copy(), grid.T.copy()
    change = grid.react(solver(lambda T, p, Y: (T + 40.0, Y)), FLAME_DT)
    assert np.array_equal(grid.h, h) and np.all(change == 0.0)
    assert np.allclose(grid.T, T, atol=1e-6)
