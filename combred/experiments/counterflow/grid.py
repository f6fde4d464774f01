"""Cells of a counterflow flame: their convection and diffusion, and their chemistry.

Takes Cantera's solution (`combred.experiments.counterflow.cantera_flame`), as a
`CounterflowProfile`; `combred.experiments.counterflow.flame` marches it. In the mass coordinate m =
integral rho dz from the stagnation plane, and with the similarity variable V = v / r,

    dY_k/dt + G dY_k/dm = -dj_k/dm        dh/dt + G dh/dm = -dq/dm        dG/dm = -2 V

without chemistry. G [kg/(m^2 s)] is the mass flux relative to the coordinate: rho u where the flame
is steady. It is not solved for, but kept as G(m) of Cantera's steady flame, so that two solvers see
the same flow. (V, and with it G, follows the density only weakly.) The fluxes j and q are those of
`combred.experiments.diffusion`.
"""

from dataclasses import dataclass, replace

import cantera as ct
import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.ndimage import gaussian_filter1d

from combred.chemistry.mechanism import Mechanism
from combred.experiments.cells import Cells
from combred.experiments.counterflow.cantera_flame import CounterflowCase, strain_rate
from combred.experiments.diffusion import Diffusion

PURE = 5e-3  # share of its range by which a profile departs from a stream where the cells begin
PRESENT = 1e-3  # least largest mass fraction of the species whose profiles count there
# Width of the cells: standard deviation of the Gaussian that smooths Cantera's density of points, a
# share of the whole width, and the share of cells that are spread evenly.
SMOOTH, UNIFORM = 0.04, 0.5


@dataclass(frozen=True)
class CounterflowProfile:
    """The profile of a counterflow flame, from fuel to oxidizer, and its flow.

    strain [1/s]: of the inlets (`solve_counterflow`); cell_mass (n,) [kg/m^2]; flux (n + 1,)
    [kg/(m^2 s)]: G at the faces, from positive to negative; T (n,) [K]; Y (n, n_species); stream_T
    (2,) [K] and stream_Y (2, n_species): of fuel and oxidizer.
    """

    case: CounterflowCase
    strain: float
    cell_mass: np.ndarray
    flux: np.ndarray
    T: np.ndarray
    Y: np.ndarray
    stream_T: np.ndarray
    stream_Y: np.ndarray

    def strained(self, factor: float) -> "CounterflowProfile":
        """The same profile and flow, similar, at `factor` times the strain rate a: m and z scale as
        a^(-1/2), G as a^(1/2)."""
        return replace(
            self,
            strain=self.strain * factor,
            cell_mass=self.cell_mass * factor**-0.5,
            flux=self.flux * factor**0.5,
        )


def profile_of(
    mechanism: Mechanism, flame: ct.CounterflowDiffusionFlame, case: CounterflowCase, cells: int
) -> CounterflowProfile:
    """Cantera's solved `flame`, on `cells` cells between the places where it departs from its
    streams. The width of the cells follows that of Cantera's adaptive grid, smoothed."""
    z, T, Y = flame.grid, flame.T, flame.Y.T
    streams = []
    for inlet in (flame.fuel_inlet, flame.oxidizer_inlet):
        streams.append((inlet.T, np.array(inlet.Y)))
    stream_T, stream_Y = (np.array(values) for values in zip(*streams, strict=True))
    columns = np.column_stack([T, Y[:, Y.max(0) > PRESENT]])
    away = PURE * np.ptp(columns, axis=0)
    first = int(np.argmax((np.abs(columns - columns[0]) > away).any(1))) - 1
    last = len(z) - int(np.argmax((np.abs(columns - columns[-1]) > away)[::-1].any(1)))
    faces = _faces(z, z[max(first, 0)], z[min(last, len(z) - 1)], cells)
    centres = 0.5 * (faces[1:] + faces[:-1])
    Y = PchipInterpolator(z, Y)(centres).clip(min=0.0)
    mass = PchipInterpolator(z, flame.density).antiderivative()(faces)
    return CounterflowProfile(
        case,
        strain_rate(flame),
        np.diff(mass),
        PchipInterpolator(z, flame.density * flame.velocity)(faces),
        PchipInterpolator(z, T)(centres),
        Y / Y.sum(1, keepdims=True),
        stream_T,
        stream_Y,
    )


def _faces(z: np.ndarray, low: float, high: float, cells: int) -> np.ndarray:
    """The faces (cells + 1,) [m] of cells from `low` to `high`, whose density follows that of the
    points z (n,) [m]."""
    at = np.linspace(low, high, 2001)
    density = np.gradient(np.interp(at, z, np.arange(len(z), dtype=float)))
    density = gaussian_filter1d(density, SMOOTH * len(at), mode="nearest")
    density += UNIFORM / (1 - UNIFORM) * density.mean()
    count = np.append(0.0, np.cumsum(0.5 * (density[1:] + density[:-1])))
    return np.interp(np.linspace(0.0, count[-1], cells + 1), count, at)


class CounterflowGrid(Cells):
    """The cells and their convection. Raises ValueError where the mechanism has no transport
    data."""

    def __init__(self, mechanism: Mechanism, profile: CounterflowProfile):
        diffusion = Diffusion(mechanism, profile.case.p, profile.cell_mass, self.convection)
        super().__init__(diffusion, profile.T, profile.Y)
        self.profile = profile
        self.stream_h = self.diffusion.enthalpy(profile.stream_T, profile.stream_Y)
        self.upwind = self._upwind()

    def _upwind(self) -> np.ndarray:
        """Weight (n - 1,) of the upwind cell's excess over the mean at the inner faces, positive on
        the left: 1 - 2 / Pe where the cell Peclet number Pe, of heat and the initial profile,
        exceeds 2, else 0 (the hybrid scheme of Spalding, Int. J. Numer. Meth. Eng. 4 (1972) 551).
        It is not 0 only in the outermost cells."""
        T, Y = (0.5 * (phi[1:] + phi[:-1]) for phi in (self.T, self.Y))
        moles = Y / self.diffusion.transport.molecular_weights
        conductivity = self.diffusion.transport.conductivity(T, moles / moles.sum(1)[:, None])
        warmer = self.diffusion.enthalpy(T + 1.0, Y) - self.diffusion.enthalpy(T - 1.0, Y)
        G = self.profile.flux[1:-1]
        peclet = np.abs(G) * np.diff(self.x) * (0.5 * warmer) / conductivity
        return np.sign(G) * (1.0 - 2.0 / np.maximum(peclet, 2.0))

    def convection(self, Y: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """dY/dt (n, n_species) [1/s] and dh/dt (n,) [J/(kg s)] of convection: with the means at the
        inner faces (`_upwind`), the streams at the ends, and gas of a cell that leaves it sideways,

        m_i dphi_i/dt = G_left (phi_left - phi_i) - G_right (phi_right - phi_i)
        """
        G, mass = self.profile.flux, self.profile.cell_mass
        found = []
        for phi, stream in ((Y.T, self.profile.stream_Y.T), (h[None], self.stream_h[None])):
            faces = np.empty((len(phi), len(G)))
            left, right = phi[:, :-1], phi[:, 1:]
            faces[:, 1:-1] = 0.5 * (left + right + self.upwind * (left - right))
            faces[:, [0, -1]] = stream
            inflow = G[:-1] * (faces[:, :-1] - phi) - G[1:] * (faces[:, 1:] - phi)
            found.append(inflow / mass)
        return found[0].T, found[1][0]

    @property
    def x(self) -> np.ndarray:
        """Position (n,) [m] of the cells' centres, from the stagnation plane (G = 0) on."""
        width = self.profile.cell_mass / self.diffusion.density(self.T, self.Y)
        faces = np.append(0.0, np.cumsum(width))
        stagnation = np.interp(0.0, -self.profile.flux, faces)
        return 0.5 * (faces[1:] + faces[:-1]) - stagnation
