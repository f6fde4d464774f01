"""The two forms of a surrogate: of the state alone, and with a quasi-steady-state step.

Takes a transform and a network; gives the `Surrogate` of its form (`make_surrogate`).
"""

from typing import Final

import torch
from torch import Tensor

from combred.chemistry.mechanism import Mechanism
from combred.surrogates.model.correction import CorrectionTransform
from combred.surrogates.model.network import Network
from combred.surrogates.model.surrogate import Surrogate
from combred.surrogates.model.transform import StateTransform


class StateSurrogate(Surrogate):
    """A network of [T, p, Y] alone, as the papers have it: one dt, trusted inside its training
    range.

    The closure's correction is the error estimate: it is the default tolerance where the correction
    is 7 % of the change plus 0.7 K in T, or plus 7e-5 in Y.
    """

    refused = "not in_training_range"
    remedy = "combred.solver(surrogate.mechanism) advances any valid state"
    SHARE: Final[float] = 0.07
    FLOOR_T: Final[float] = 0.7  # K
    FLOOR_Y: Final[float] = 7e-5

    def relative_error(
        self, change: Tensor, estimate: Tensor, moved: Tensor, changed: Tensor
    ) -> Tensor:
        """As `Surrogate.relative_error`."""
        of_T = moved[0] / (self.SHARE * changed[0] + self.FLOOR_T)
        of_Y = moved[1] / (self.SHARE * changed[1] + self.FLOOR_Y)
        return self.TOLERANCE * torch.maximum(of_T, of_Y)

    def takes(self, state: Tensor, dt: Tensor) -> Tensor:
        """(n,) bool: `in_training_range`. Raises ValueError unless dt (n,) [s] is the network's own
        within 1e-9 of it."""
        own = self.transform.dt_range[0]
        other = (dt - own).abs() > 1e-9 * own
        if self.can_be_read(dt) and bool(other.any()):
            raise ValueError(
                f"this network advances by dt = {float(own)} s alone, and not by dt = "
                f"{float(dt[other][0])} s: give its own time step, or take a network that "
                "corrects QSS steps, which takes a range"
            )
        return self.in_training_range(state)


class QuasiSteadySurrogate(Surrogate):
    """A network that corrects a quasi-steady-state step (`CorrectionTransform`): any dt in the
    range of its training, any state.

    The error estimate is the largest of these, with v = [T, ln p, F(Y)] and rms the root mean
    square over the variables:

        E / (rms(dv / scale) + 0.4)          E = M 10^e, the network's estimate of its error
        |Y_next - Y_raw| / (4 |dY| + 2e-3)   the closure's correction, largest component
        |T_next - T_raw| / (4 |dT| + 20 K)
    """

    kinetics = True
    refused = "dt out of its range"
    remedy = "combred.native.compile(surrogate) advances any valid state, by the solver behind it"
    FLOOR: Final[float] = 0.4  # of [T, F(Y)] over its scale, root mean square
    FLOOR_Y: Final[float] = 5e-4
    FLOOR_T: Final[float] = 5.0  # K
    CLOSURE_WEIGHT: Final[float] = 0.25  # of the closure's correction as an error
    MARGIN: Final[float] = 1.01  # of the range of dt in training

    def relative_error(
        self, change: Tensor, estimate: Tensor, moved: Tensor, changed: Tensor
    ) -> Tensor:
        """As `Surrogate.relative_error`."""
        dv = (change / self.transform.scale).square().mean(dim=1).sqrt()
        of_T = moved[0] / (changed[0] + self.FLOOR_T)
        of_Y = moved[1] / (changed[1] + self.FLOOR_Y)
        of_closure = self.CLOSURE_WEIGHT * torch.maximum(of_T, of_Y)
        return torch.maximum(estimate / (dv + self.FLOOR), of_closure)

    def takes(self, state: Tensor, dt: Tensor) -> Tensor:
        """(n,) bool: the state is valid, and dt (n,) [s] in the range of training."""
        low, high = self.transform.dt_range[0], self.transform.dt_range[1]
        inside = (dt >= low / self.MARGIN) & (dt <= self.MARGIN * high)
        return self.is_valid_state(state) & inside


def make_surrogate(mechanism: Mechanism, transform: StateTransform, network: Network) -> Surrogate:
    """The surrogate of a transform's form. Raises ValueError if the network's widths do not fit
    the transform and the mechanism."""
    form = QuasiSteadySurrogate if isinstance(transform, CorrectionTransform) else StateSurrogate
    return form(mechanism, transform, network)
