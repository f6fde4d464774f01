"""The modules and functions of PyTorch that the reduction knows, by their effect on units, and
`ChannelSelection`, which reductions of residual networks put into a network."""

import operator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
PRODUCERS = (nn.Linear, *CONVOLUTIONS)
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
POOLS = (
    *(nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d),
    *(nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d),
    *(nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d, nn.AdaptiveMaxPool3d),
)
POOL_FUNCTIONS = {
    *(F.max_pool1d, F.max_pool2d, F.max_pool3d, F.avg_pool1d, F.avg_pool2d, F.avg_pool3d),
    *(F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d),
    *(F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d),
    *(torch.mean, "mean"),
}
FLATTENING = {torch.flatten, torch.reshape, torch.squeeze, "flatten", "view", "reshape", "squeeze"}
MIXING = {
    **dict.fromkeys(
        ("add", "iadd", "add_", "sub"), "its units are added to others: a residual sum"
    ),
    **dict.fromkeys(("cat", "concat", "stack"), "its units are concatenated with others"),
    **dict.fromkeys(
        ("mul", "imul", "mul_", "truediv", "matmul"), "its units are multiplied with others"
    ),
}
# Elementwise operations by their effect: modules, then functions and methods of tensors.
ELEMENTWISE: dict[str, tuple[tuple, set]] = {
    # sigma(c x) = c sigma(x) for c > 0 (Chen & Xu 2024, equation 5)
    "homogeneous": (
        (nn.ReLU, nn.LeakyReLU),
        {torch.relu, torch.relu_, F.relu, F.leaky_relu, "relu", "relu_"},
    ),
    # ReLU6 is homogeneous only below 6; Chen & Xu 2024, appendix A.3, condense behind it all the
    # same. It is a Hardtanh, too.
    "bounded": ((nn.ReLU6,), {F.relu6}),
    "linear": (
        (nn.Identity, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d),
        {F.dropout, F.dropout1d, F.dropout2d, F.dropout3d},
    ),
    "other": (
        (
            *(nn.GELU, nn.SiLU, nn.Tanh, nn.Sigmoid, nn.ELU, nn.CELU, nn.SELU, nn.Softplus),
            *(nn.Hardswish, nn.Hardsigmoid, nn.Hardtanh, nn.Mish, nn.LogSigmoid, nn.Softsign),
        ),
        {
            *(F.gelu, F.silu, F.tanh, F.sigmoid, F.elu, F.celu, F.selu, F.softplus, F.hardswish),
            *(F.hardsigmoid, F.hardtanh, F.mish, F.logsigmoid, F.softsign),
            *(torch.tanh, torch.sigmoid, "tanh", "sigmoid"),
        },
    ),
}
JOINS = {operator.add, operator.iadd, torch.add, torch.cat, torch.concat}
# layers with weights that cannot be reduced
PARAMETRIC = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d, nn.Bilinear, nn.RNNBase)


def effect(operation: object) -> str:
    """The key in `ELEMENTWISE` of a module, function or method's name; "" for other operations."""
    for name, (modules, functions) in ELEMENTWISE.items():
        if isinstance(operation, modules) or operation in functions:
            return name
    return ""


class ChannelSelection(nn.Module):
    """Passes on the channels `channels` (k,) of an input (n, m, ...): the output is (n, k, ...).

    Before the first batch norm of a pre-activation residual block, it lets the block read k of the
    m channels of the residual stream (Zhang et al., section 4).
    """

    def __init__(self, channels: Tensor):
        super().__init__()
        self.channels: Tensor
        self.register_buffer("channels", channels.long())

    def forward(self, x: Tensor) -> Tensor:
        """The selected channels of x."""
        return x.index_select(1, self.channels)
