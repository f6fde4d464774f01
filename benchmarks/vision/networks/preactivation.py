"""ResNet with pre-activation, for CIFAR: He et al., Identity mappings (ECCV 2016).

Batch normalisation and ReLU come before each convolution, so that a block adds to an untouched
residual stream. Two blocks: `basic`, depth 6n + 2, and `bottleneck`, depth 9n + 2. ResNet-110 of
Zhang et al. is the second with n = 12: its 341.23 MFLOP (their table 1) are reproduced to the last
digit (tests), and a basic block's 110 layers have 508.
"""

from collections import OrderedDict

from torch import Tensor, nn

from benchmarks.vision.networks.initialization import initialize_fan_out

EXPANSION = 4  # channels of the residual stream per channel of a bottleneck
LAYERS = {"basic": 2, "bottleneck": 3}


class BasicBlock(nn.Module):
    """shortcut(x) + conv2(relu2(norm2(conv1(relu1(norm1(x)))))), `out` channels throughout.

    Where the shape changes the shortcut is a 1 x 1 convolution of the activated input.
    """

    def __init__(self, channels: int, out: int, stride: int):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels)
        self.relu1 = nn.ReLU()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(out)
        self.relu2 = nn.ReLU()
        self.conv2 = nn.Conv2d(out, out, 3, padding=1, bias=False)
        self.changes = (channels, stride) != (out, 1)
        if self.changes:
            self.shortcut = nn.Conv2d(channels, out, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        active = self.relu1(self.norm1(x))
        branch = self.conv2(self.relu2(self.norm2(self.conv1(active))))
        return (self.shortcut(active) if self.changes else x) + branch


class Bottleneck(nn.Module):
    """shortcut(x) + 1 x 1, 3 x 3 and 1 x 1 convolution, each behind norm and ReLU.

    `out` channels inside, 4 `out` in the stream. Where the shape changes the shortcut is a 1 x 1
    convolution of the input as it is (Liu et al., ICCV 2017), so that `norm1` is read by `conv1`
    alone.
    """

    def __init__(self, channels: int, out: int, stride: int):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels)
        self.relu1 = nn.ReLU()
        self.conv1 = nn.Conv2d(channels, out, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(out)
        self.relu2 = nn.ReLU()
        self.conv2 = nn.Conv2d(out, out, 3, stride, padding=1, bias=False)
        self.norm3 = nn.BatchNorm2d(out)
        self.relu3 = nn.ReLU()
        self.conv3 = nn.Conv2d(out, EXPANSION * out, 1, bias=False)
        self.shortcut: nn.Module = nn.Identity()
        if (channels, stride) != (EXPANSION * out, 1):
            self.shortcut = nn.Conv2d(channels, EXPANSION * out, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        branch = self.conv1(self.relu1(self.norm1(x)))
        branch = self.conv2(self.relu2(self.norm2(branch)))
        return self.shortcut(x) + self.conv3(self.relu3(self.norm3(branch)))


class Preactivation(nn.Module):
    """A convolution, three stages of `n` blocks `stage1.block1` to `stage3.block<n>`, and a
    classifier. first: channels of the convolution; widths: `out` of the blocks of each stage."""

    def __init__(
        self, first: int, widths: list[int], n: int, block: str, in_channels: int, classes: int
    ):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, first, 3, padding=1, bias=False)
        channels = add_stages(self, first, widths, n, block)
        self.norm = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(channels, classes)
        initialize_fan_out(self)

    def forward(self, images: Tensor) -> Tensor:
        x = self.stage3(self.stage2(self.stage1(self.conv(images))))
        return self.classifier(self.pool(self.relu(self.norm(x))).flatten(1))


class PreactivationResNet(Preactivation):
    """`depth` layers in three stages of `block` blocks. width: a factor on 16, 32, 64 channels.

    ValueError for another depth or block.
    """

    def __init__(
        self,
        depth: int = 110,
        in_channels: int = 3,
        classes: int = 10,
        width: float = 1.0,
        block: str = "bottleneck",
    ):
        if block not in LAYERS:
            raise ValueError(f"block={block!r} is neither 'basic' nor 'bottleneck'")
        per_n = 3 * LAYERS[block]
        if depth < per_n + 2 or (depth - 2) % per_n:
            raise ValueError(f"depth={depth} is not {per_n}n + 2, which {block} blocks want")
        widths = [max(1, round(w * width)) for w in (16, 32, 64)]
        super().__init__(widths[0], widths, (depth - 2) // per_n, block, in_channels, classes)


def add_stages(
    network: nn.Module, channels: int, widths: list[int], blocks: int, block: str
) -> int:
    """Give `network` one stage per width, of so many blocks, the second stage on with stride 2.

    Returns the channels of the residual stream at the end.
    """
    for stage, out in enumerate(widths, start=1):
        modules = OrderedDict()
        for index in range(1, blocks + 1):
            stride = 2 if stage > 1 and index == 1 else 1
            kind = BasicBlock if block == "basic" else Bottleneck
            modules[f"block{index}"] = kind(channels, out, stride)
            channels = out if block == "basic" else EXPANSION * out
        network.add_module(f"stage{stage}", nn.Sequential(modules))
    return channels
