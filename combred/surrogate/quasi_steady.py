"""The quasi-steady-state (QSS) step: an explicit estimate of the change over dt, from the rates.

Takes states; gives the QSS change of [T, F(Y)] and the stiffness of every species. The network
sees both and corrects the change. The QSS change alone is inaccurate, but contains most of the
steep dependence on the state.
"""

import torch
from torch import Tensor, nn

from combred.chemistry.kinetics import Kinetics
from combred.chemistry.mechanism import Mechanism
from combred.chemistry.thermo import Thermo


class QuasiSteadyState(nn.Module):
    """The quasi-steady-state step over `dt` [s] with 1 or 2 `evaluations` of the reaction rates.

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
        dt: float,
        lam: float,
        floor: float,
        evaluations: int,
        dtype: torch.dtype = torch.float32,
    ):
        super().__init__()
        if evaluations not in (1, 2):
            raise ValueError(f"evaluations of the reaction rates are 1 or 2, not {evaluations}")
        self.dt, self.lam, self.floor, self.evaluations = dt, lam, floor, evaluations
        self.kinetics = Kinetics(mechanism, dtype)
        self.thermo = Thermo(mechanism)
        reactive = torch.tensor((~mechanism.inert).nonzero()[0])
        self.register_buffer("reactive", reactive, persistent=False)
        columns = torch.cat([torch.zeros(1, dtype=torch.int64), 2 + reactive])
        self.register_buffer(
            "columns", columns, persistent=False
        )  # of [T, p, Y]: those that change

    def forward(self, T: Tensor, p: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
        """The QSS change of [T, F(Y)] over dt (n, 1 + n_reactive) and the stiffness
        log10(dt / tau + 1e-6) (n, n_reactive), float32, at T (n,) [K], p (n,) [Pa] and
        Y (n, n_species) >= floor."""
        T = T.clamp(self.thermo.T_min / 2, self.thermo.T_max + 1000.0)  # as `Thermo.temperature`
        heat = self.thermo.species_enthalpy(T) / self.thermo.cp(T, Y)[:, None]
        Y = Y.T.contiguous()  # species by states, as `Kinetics`
        net, destruction = self.kinetics(T, p, Y)
        heat, y = heat.T.to(net.dtype).contiguous(), Y.to(net.dtype)
        loss = destruction / y
        dY = self.step(net, loss)
        if self.evaluations == 2:
            ahead = torch.maximum(Y + dY, 1e-6 * Y)
            ahead = ahead / ahead.sum(dim=0)
            T_ahead = (T - (heat * dY).sum(dim=0)).clamp(self.thermo.T_min, self.thermo.T_max)
            net_ahead, destruction = self.kinetics(T_ahead, p, ahead)
            loss_ahead = destruction / ahead.to(net.dtype)
            # Mean of C minus Y times the mean of 1 / tau, with C = dY/dt + D at both ends.
            net = (net + net_ahead + (ahead - Y).to(net.dtype) * loss_ahead) / 2
            loss = (loss + loss_ahead) / 2
            dY = self.step(net, loss)
        dT = -(heat * dY).sum(dim=0, keepdim=True)
        y, dY = y.index_select(0, self.reactive), dY.index_select(0, self.reactive)
        stiffness = torch.log10(self.dt * loss.index_select(0, self.reactive) + 1e-6)
        change = torch.cat([dT, self.change_of_F(y, dY)]).T.contiguous()
        return change.to(torch.float32), stiffness.T.contiguous().to(torch.float32)

    def step(self, net: Tensor, loss: Tensor) -> Tensor:
        """dY (n_species, n) with frozen creation rate and loss frequency `loss` = 1 / tau [1/s];
        `net` (n_species, n) [1/s]: dY/dt at the beginning of the step."""
        x = self.dt * loss
        # (1 - exp(-x)) / x; its series 1 - x / 2 where x is too small to divide by.
        share = torch.where(x > 1e-4, -torch.expm1(-x) / x.clamp(min=1e-4), 1.0 - x / 2)
        return self.dt * net * share

    def change_of_F(self, Y: Tensor, dY: Tensor) -> Tensor:
        """F(Y + dY) - F(Y) without cancellation; F treats what is below the floor as the floor."""
        # least: the smallest Y + dY, over Y; exactly 1 at the floor, where nothing can decay.
        growth, least = dY / Y, torch.full_like(Y, self.floor) / Y
        grown, growth = torch.maximum(1.0 + growth, least), torch.maximum(growth, least - 1.0)
        ln = torch.where(growth > -0.5, torch.log1p(growth), torch.log(grown))
        return Y**self.lam * torch.expm1(self.lam * ln) / self.lam
