"""The quasi-steady-state (QSS) step: an explicit predictor and corrector of the change over dt,
from the rates.

Takes states and a time step each; gives the QSS changes of [T, F(Y)] and the stiffness of every
species. The network sees all of them and corrects the corrector. The difference of corrector and
predictor measures the error of the step, and vanishes as dt^2.
"""

import torch
from torch import Tensor, nn

from combred.chemistry.kinetics import Kinetics
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.thermo import Thermo


class QuasiSteadyState(nn.Module):
    """The quasi-steady-state step over dt, with two evaluations of the reaction rates.

    With the creation rate C and the time scale tau of destruction Y / tau frozen, the solution of
    dY/dt = C - Y / tau is

        dY = (C tau - Y) (1 - exp(-dt / tau)),

    the predictor of the quasi-steady-state method (Mott, Oran & van Leer, J. Comput. Phys. 164
    (2000)). It is accurate for slow species and for species in balance. The second evaluation, at
    the predicted state, makes the corrector: the same formula with the means of C and 1 / tau over
    the step. `lam`, `floor`: of the Box-Cox transform F; `dtype`: of the rates (see `Kinetics`) and
    of all that follows from them. Raises ValueError for rate types that `Kinetics` does not
    support.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        lam: float,
        floor: float,
        dtype: torch.dtype = torch.float32,
    ):
        super().__init__()
        self.lam, self.floor = lam, floor
        self.kinetics = Kinetics(mechanism, dtype)
        self.thermo = Thermo(mechanism)
        reactive = torch.tensor((~mechanism.inert).nonzero()[0])
        self.register_buffer("reactive", reactive, persistent=False)
        columns = torch.cat([torch.zeros(1, dtype=torch.int64), 2 + reactive])
        self.register_buffer(
            "columns", columns, persistent=False
        )  # of [T, p, Y]: those that change

    def forward(self, T: Tensor, p: Tensor, Y: Tensor, dt: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The corrector's and the predictor's change of [T, F(Y)] over dt, (n, 1 + n_reactive)
        each, and the stiffness log10(dt / tau + 1e-6) (n, n_reactive), of the dtype of the rates.

        T (n,) [K], p (n,) [Pa], Y (n, n_species) >= floor, dt (n,) [s], all float64.
        """
        T = T.clamp(self.thermo.T_min / 2, self.thermo.T_max + 1000.0)  # as `Thermo.temperature`
        heat = self.thermo.species_enthalpy(T) / self.thermo.cp(T, Y)[:, None]
        Y = Y.T.contiguous()  # species by states, as `Kinetics`
        net, destruction = self.kinetics(T, p, Y)
        heat, y, dt = heat.T.to(net.dtype).contiguous(), Y.to(net.dtype), dt.to(net.dtype)
        loss = destruction / y
        predicted = self.step(net, loss, dt)
        ahead = torch.maximum(Y + predicted, 1e-6 * Y)
        ahead = ahead / ahead.sum(dim=0)
        T_ahead = (T - (heat * predicted).sum(dim=0)).clamp(self.thermo.T_min, self.thermo.T_max)
        net_ahead, destruction = self.kinetics(T_ahead, p, ahead)
        loss_ahead = destruction / ahead.to(net.dtype)
        # Mean of C minus Y times the mean of 1 / tau, with C = dY/dt + D at both ends.
        net = (net + net_ahead + (ahead - Y).to(net.dtype) * loss_ahead) / 2
        loss = (loss + loss_ahead) / 2
        corrected = self.step(net, loss, dt)
        stiffness = torch.log10(dt * loss.index_select(0, self.reactive) + 1e-6)
        y = y.index_select(0, self.reactive)
        return (
            self.change(heat, y, corrected),
            self.change(heat, y, predicted),
            stiffness.T.contiguous(),
        )

    def step(self, net: Tensor, loss: Tensor, dt: Tensor) -> Tensor:
        """dY (n_species, n) with frozen creation rate and loss frequency `loss` = 1 / tau [1/s];
        `net` (n_species, n) [1/s]: dY/dt at the beginning of the step; dt (n,) [s]."""
        x = dt * loss
        # (1 - exp(-x)) / x; its series 1 - x / 2 where x is too small to divide by.
        share = torch.where(x > 1e-4, -torch.expm1(-x) / x.clamp(min=1e-4), 1.0 - x / 2)
        return dt * net * share

    def change(self, heat: Tensor, y: Tensor, dY: Tensor) -> Tensor:
        """The change of [T, F(Y)] (n, 1 + n_reactive) of a change dY (n_species, n); heat
        (n_species, n) [K]: h_k / cp; y (n_reactive, n): mass fractions before it."""
        dT = -(heat * dY).sum(dim=0, keepdim=True)
        dY = dY.index_select(0, self.reactive)
        return torch.cat([dT, self.change_of_F(y, dY)]).T.contiguous()

    def change_of_F(self, Y: Tensor, dY: Tensor) -> Tensor:
        """F(Y + dY) - F(Y) without cancellation; F treats what is below the floor as the floor."""
        # least: the smallest Y + dY, over Y; exactly 1 at the floor, where nothing can decay.
        growth, least = dY / Y, torch.full_like(Y, self.floor) / Y
        grown, growth = torch.maximum(1.0 + growth, least), torch.maximum(growth, least - 1.0)
        ln = torch.where(growth > -0.5, torch.log1p(growth), torch.log(grown))
        return Y**self.lam * torch.expm1(self.lam * ln) / self.lam
