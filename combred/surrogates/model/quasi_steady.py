"""Four quasi-steady-state (QSS) steps: an explicit estimate of the change over dt, from the
reaction rates.

Takes states and a time step each; gives the QSS changes of [T, F(Y)] and the stiffness of every
species. The network sees all of them and corrects the corrector. The difference of corrector and
predictor measures the error of the step, and vanishes as dt^2.
"""

from typing import Final

import torch
from torch import Tensor, nn

from combred.chemistry.mechanism import Mechanism
from combred.surrogates.model.kinetics import Kinetics
from combred.surrogates.model.thermo import Thermo


class QuasiSteadyState(nn.Module):
    """Four quasi-steady-state steps, of 0.05, 0.15, 0.3 and 0.5 dt, with five evaluations of the
    rates.

    With the creation rate C and the time scale tau of destruction Y / tau frozen, the solution of
    dY/dt = C - Y / tau is

        dY = dt (C - Y / tau) / (1 + alpha x),  x = dt / tau,
        alpha = 1 / (1 - exp(-x)) - 1 / x,

    the predictor of the quasi-steady-state method (Mott, Oran & van Leer, J. Comput. Phys. 164
    (2000)). It is accurate for slow species and for species in balance. The second
    evaluation, at the predicted state, makes the corrector: the same formula with the mean of
    1 / tau over the step, and C weighted by alpha(dt / tau) at the end and 1 - alpha at the
    beginning, as there. alpha is 1/2 for slow species and 1 for those in balance; a rational
    function stands for it (`alpha`). The next step begins at the corrected state, with C and tau of
    the predicted one.

    Rate constants, falloff and h_k / cp are those of the beginning of dt, which costs no accuracy
    in training. The first step is the shortest, since fast species change most at the beginning.
    `lam`, `floor`: of the transform F (`ShiftedBoxCox`); `dtype`: of the rates
    (see `Kinetics`) and of all that follows from them. Raises ValueError for
    rate types that `Kinetics` does not support.
    """

    # The mass fraction that stands for an absent species, far below the floor of F: radicals of
    # 1e-13 react with abundant species, which disturbs the predictor in gas without radicals.
    ABSENT: Final[float] = 1e-18
    LEFT: Final[float] = 1e-6  # least share of Y that a step leaves
    LEAST_Y: Final[float] = 1e-30  # its reciprocal is finite in float32
    LARGEST_X: Final[float] = 1e5  # dt / tau; 1 - 1e-5 is the weight alpha beyond
    LEAST_X: Final[float] = 1e-6  # added to dt / tau in its logarithm

    reactive: Tensor
    columns: Tensor
    shares: list[float]
    above: list[float]
    below: list[float]

    def __init__(
        self, mechanism: Mechanism, lam: float, floor: float, dtype: torch.dtype = torch.float32
    ):
        super().__init__()
        self.lam, self.floor = lam, floor
        self.shares = [0.05, 0.15, 0.3, 0.5]  # of dt
        self.above = [11.0, 60.0, 180.0]  # coefficients of alpha, of x^2, x and 1
        self.below = [12.0, 60.0, 360.0]
        self.kinetics = Kinetics(mechanism, dtype)
        self.thermo = Thermo(mechanism)
        reactive = torch.tensor((~mechanism.inert).nonzero()[0])
        self.register_buffer("reactive", reactive, persistent=False)
        columns = torch.cat([torch.zeros(1, dtype=torch.int64), 2 + reactive])
        self.register_buffer(
            "columns", columns, persistent=False
        )  # of [T, p, Y]: those that change

    def forward(self, T: Tensor, p: Tensor, Y: Tensor, dt: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The change of [T, F(Y)] over dt by the correctors and by one predictor, which is taken
        over the whole of dt, (n, 1 + n_reactive) each, and the stiffness log10(dt / tau + 1e-6) of
        the last step (n, n_reactive), of the dtype of the rates.

        T (n,) [K], p (n,) [Pa], Y (n, n_species) >= 0, dt (n,) [s], all float64.
        """
        T = self.thermo.bounded(T)
        Y = Y.T.contiguous().clamp(min=self.ABSENT)  # species by states, as `Kinetics`
        constants = self.kinetics.constants(T, p, Y)
        net, loss = self.rates(constants, T, p, Y)
        y, dt = Y.to(net.dtype).index_select(0, self.reactive), dt.to(net.dtype)
        dY, heat = self.step(net, loss, dt), self.heat(T, Y, net.dtype)
        predictor = self.change(-(heat * dY).sum(dim=0), y, dY)
        dY, dT, mean_loss = torch.zeros_like(dY), torch.zeros_like(dt), loss
        for i in range(len(self.shares)):
            h = self.shares[i] * dt
            T_ahead, ahead = self.after(T, Y, heat, self.step(net, loss, h))
            net_ahead, loss_ahead = self.rates(constants, T_ahead, p, ahead)
            grown = (ahead - Y).to(net.dtype)
            more, mean_loss = self.corrected(Y, grown, (net, loss), (net_ahead, loss_ahead), h)
            dY, dT = dY + more, dT - (heat * more).sum(dim=0)
            T, Y = self.after(T, Y, heat, more)
            # dY/dt of the corrected Y with C and tau of the predicted one.
            net, loss = net_ahead + (ahead - Y).to(net.dtype) * loss_ahead, loss_ahead
        stiffness = torch.log10(dt * mean_loss.index_select(0, self.reactive) + self.LEAST_X)
        return self.change(dT, y, dY), predictor, stiffness.T.contiguous()

    def rates(
        self, constants: tuple[Tensor, Tensor], T: Tensor, p: Tensor, Y: Tensor
    ) -> tuple[Tensor, Tensor]:
        """dY/dt and 1 / tau [1/s] (n_species, n) of Y (n_species, n), with these rate constants."""
        net, destruction = self.kinetics.rates(constants, T, p, Y)
        return net, destruction / Y.to(net.dtype)

    def heat(self, T: Tensor, Y: Tensor, dtype: torch.dtype) -> Tensor:
        """The fall of T for each unit of Y that is produced, h_k / cp (n_species, n) [K]."""
        h = self.thermo.species_enthalpy(T) / self.thermo.cp(T, Y.T)[:, None]
        return h.T.to(dtype).contiguous()

    def after(self, T: Tensor, Y: Tensor, heat: Tensor, dY: Tensor) -> tuple[Tensor, Tensor]:
        """The state after a change dY, with positive Y of sum 1: T (n,), Y (n_species, n)."""
        Y = torch.maximum(Y + dY, self.LEFT * Y).clamp(min=self.LEAST_Y)
        return self.thermo.bounded(T - (heat * dY).sum(dim=0)), Y / Y.sum(dim=0)

    def corrected(
        self,
        Y: Tensor,
        grown: Tensor,
        rates: tuple[Tensor, Tensor],
        rates_ahead: tuple[Tensor, Tensor],
        dt: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """dY of the corrector over dt (n,) [s], and the mean 1 / tau [1/s], (n_species, n) each;
        grown: the predictor's change of Y; `rates` of the state, and of the predicted one."""
        (net, loss), (net_ahead, loss_ahead) = rates, rates_ahead
        mean_loss = (loss + loss_ahead) / 2
        alpha = self.alpha(dt * mean_loss)
        # C - Y / tau of the mean C and 1 / tau, with C = dY/dt + Y / tau at both ends.
        net = (1.0 - alpha) * net + alpha * (net_ahead + grown * loss_ahead)
        net = net + (alpha - 0.5) * Y.to(net.dtype) * (loss_ahead - loss)
        return self.step(net, mean_loss, dt), mean_loss

    def step(self, net: Tensor, loss: Tensor, dt: Tensor) -> Tensor:
        """dY (n_species, n) with frozen creation rate and loss frequency `loss` = 1 / tau [1/s];
        `net` (n_species, n) [1/s]: dY/dt at the beginning of the step; dt (n,) [s]."""
        x = dt * loss
        return dt * net / (1.0 + self.alpha(x) * x)  # (1 - exp(-x)) / x = 1 / (1 + alpha x)

    def alpha(self, x: Tensor) -> Tensor:
        """The weight of the creation rate at the end of a step, x = dt / tau: the rational function
        of CHEMEQ2 (Mott & Oran, NRL/MR/6400-01-8553, 2001), off by .012 at most, and by x^5
        near 0. The network corrects it with all else: exact weights give the same error over
        states."""
        z = x.clamp(max=self.LARGEST_X)
        above = ((z + self.above[0]) * z + self.above[1]) * z + self.above[2]
        below = ((z + self.below[0]) * z + self.below[1]) * z + self.below[2]
        return above / below

    def change(self, dT: Tensor, y: Tensor, dY: Tensor) -> Tensor:
        """The change of [T, F(Y)] (n, 1 + n_reactive) of the changes dT (n,) and dY
        (n_species, n); y (n_reactive, n): mass fractions before it."""
        dY = dY.index_select(0, self.reactive)
        return torch.cat([dT[None], self.change_of_F(y, dY)]).T.contiguous()

    def change_of_F(self, Y: Tensor, dY: Tensor) -> Tensor:
        """F(Y + dY) - F(Y) without cancellation, with dY >= -Y."""
        shifted = Y + self.floor
        growth = torch.maximum(dY, -Y) / shifted
        grown = torch.maximum(1.0 + growth, self.floor / shifted)
        ln = torch.where(growth > -0.5, torch.log1p(growth), torch.log(grown))
        return shifted**self.lam * torch.expm1(self.lam * ln) / self.lam
