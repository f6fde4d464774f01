"""ResNet-6n+2 for CIFAR: He et al. (CVPR 2016), section 4.2.

Three stages of n blocks, 16, 32 and 64 channels, on maps of 32 x 32, 16 x 16 and 8 x 8. Where a
stage begins, the shortcut skips every second pixel and fills new channels with zeros: their option
A, which adds no parameters and is the standard on CIFAR (0.85 M for ResNet-56, 1.73 M for
ResNet-110, their table 6). Option B, a 1 x 1 convolution with batch normalisation, is
`shortcut="projection"`.
"""

from collections import OrderedDict

import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.vision.networks.initialization import initialize_fan_out


class PaddedShortcut(nn.Module):
    """Every `stride`-th pixel of x (n, c, h, w), and `extra` channels of zeros behind its own."""

    def __init__(self, stride: int, extra: int):
        super().__init__()
        self.stride, self.extra = stride, extra

    def forward(self, x: Tensor) -> Tensor:
        return F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.extra))


class Block(nn.Module):
    """relu(shortcut(x) + norm2(conv2(relu(norm1(conv1(x))))))."""

    def __init__(self, channels: int, out: int, stride: int, shortcut: str):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(out)
        self.relu1 = nn.ReLU()
        self.conv2 = nn.Conv2d(out, out, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(out)
        self.relu2 = nn.ReLU()
        self.shortcut: nn.Module = nn.Identity()
        if (channels, stride) != (out, 1):
            self.shortcut = PaddedShortcut(stride, out - channels)
            if shortcut == "projection":
                conv = nn.Conv2d(channels, out, 1, stride, bias=False)
                modules = OrderedDict(conv=conv, norm=nn.BatchNorm2d(out))
                self.shortcut = nn.Sequential(modules)

    def forward(self, x: Tensor) -> Tensor:
        branch = self.norm2(self.conv2(self.relu1(self.norm1(self.conv1(x)))))
        return self.relu2(self.shortcut(x) + branch)


class ResNet(nn.Module):
    """ResNet of `depth` = 6n + 2 layers. width: a factor on 16, 32 and 64 channels.

    Blocks are `stage1.block1` to `stage3.blockn`. ValueError for another depth or shortcut.
    """

    def __init__(
        self,
        depth: int = 56,
        in_channels: int = 3,
        classes: int = 10,
        width: float = 1.0,
        shortcut: str = "padding",
    ):
        super().__init__()
        if depth < 8 or (depth - 2) % 6:
            raise ValueError(f"depth={depth} is not 6n + 2: take 8, 14, 20, 32, 44, 56 or 110")
        if shortcut not in ("padding", "projection"):
            raise ValueError(f"shortcut={shortcut!r} is neither 'padding' nor 'projection'")
        widths = [max(1, round(w * width)) for w in (16, 32, 64)]
        self.conv = nn.Conv2d(in_channels, widths[0], 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(widths[0])
        self.relu = nn.ReLU()
        channels = widths[0]
        for stage, out in enumerate(widths, start=1):
            blocks = OrderedDict()
            for index in range(1, (depth - 2) // 6 + 1):
                stride = 2 if stage > 1 and index == 1 else 1
                blocks[f"block{index}"] = Block(channels, out, stride, shortcut)
                channels = out
            self.add_module(f"stage{stage}", nn.Sequential(blocks))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(channels, classes)
        initialize_fan_out(self)

    def forward(self, images: Tensor) -> Tensor:
        x = self.relu(self.norm(self.conv(images)))
        x = self.stage3(self.stage2(self.stage1(x)))
        return self.classifier(self.pool(x).flatten(1))
