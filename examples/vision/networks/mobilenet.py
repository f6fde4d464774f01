"""MobileNetV2 as Chen & Xu 2024 reduce it on CIFAR-10: 2,236,682 parameters.

Sandler et al. (CVPR 2018), table 2, with 10 classes; Chen & Xu's table 1 lists blocks 2 to 17. They
do not give the strides. On 32 x 32 images the strides made for 224 x 224 would leave one pixel, so
here the stem and block 2 keep the resolution, as is usual on CIFAR, and 4 x 4 pixels are averaged
at the end. Parameters do not depend on it.
"""

from collections import OrderedDict

import torch
from torch import Tensor, nn

STEM, HEAD = 32, 1280  # channels of the first and the last convolution
# expansion, channels, blocks, stride of the first (2 in the original for the second row)
STAGES = (
    (1, 16, 1, 1), (6, 24, 2, 1), (6, 32, 3, 2), (6, 64, 4, 2),
    (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip


class InvertedResidual(nn.Module):
    """Expand by 1 x 1, filter by depthwise 3 x 3, project by 1 x 1 (Chen & Xu 2024, figure 5).

    Batch normalisation follows each; ReLU6 the first two. x is added where the shape allows.
    Without expansion (factor 1) the first convolution is left out.
    """

    def __init__(self, channels: int, out: int, stride: int, expansion: int):
        super().__init__()
        expanded = channels * expansion
        self.expands = expansion > 1
        self.adds = (channels, stride) == (out, 1)
        if self.expands:
            self.expand = nn.Conv2d(channels, expanded, 1, bias=False)
            self.norm1 = nn.BatchNorm2d(expanded)
            self.relu1 = nn.ReLU6()
        self.depthwise = nn.Conv2d(expanded, expanded, 3, stride, 1, groups=expanded, bias=False)
        self.norm2 = nn.BatchNorm2d(expanded)
        self.relu2 = nn.ReLU6()
        self.project = nn.Conv2d(expanded, out, 1, bias=False)
        self.norm3 = nn.BatchNorm2d(out)

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu1(self.norm1(self.expand(x))) if self.expands else x
        y = self.norm3(self.project(self.relu2(self.norm2(self.depthwise(y)))))
        return x + y if self.adds else y


class MobileNetV2(nn.Module):
    """Stem, `blocks.block1` to `blocks.block17` (the paper's layers 1 to 17), head, classifier.

    width: a factor on all widths, which are at least 4. The paper's final reduction is of the head.
    """

    def __init__(self, in_channels: int = 3, classes: int = 10, width: float = 1.0):
        super().__init__()

        def scaled(wide: int) -> int:
            return max(4, round(wide * width))

        channels = scaled(STEM)
        self.conv = nn.Conv2d(in_channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU6()
        blocks: OrderedDict[str, nn.Module] = OrderedDict()
        for expansion, out, count, stride in STAGES:
            for index in range(count):
                step, into = stride if index == 0 else 1, scaled(out)
                block = InvertedResidual(channels, into, step, expansion)
                blocks[f"block{len(blocks) + 1}"] = block
                channels = into
        self.blocks = nn.Sequential(blocks)
        self.head = nn.Conv2d(channels, scaled(HEAD), 1, bias=False)
        self.head_norm = nn.BatchNorm2d(scaled(HEAD))
        self.head_relu = nn.ReLU6()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(scaled(HEAD), classes)

    def forward(self, images: Tensor) -> Tensor:
        x = self.blocks(self.relu(self.norm(self.conv(images))))
        x = self.head_relu(self.head_norm(self.head(x)))
        return self.classifier(self.pool(x).flatten(1))


@torch.no_grad()
def initialize_condensing(network: nn.Module, generator: torch.Generator | None = None) -> None:
    """Weights from N(0, var), var = ((m_in + m_out) / 2)^-2 (Chen & Xu 2024, equation 20).

    m_in and m_out of a convolution are taken here as its fans: input or output channels, per group,
    times the pixels of its kernel; the paper says "dimensions of the layer". Biases are zero.
    """
    for module in network.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            pixels = module.weight[0, 0].numel()
            groups = getattr(module, "groups", 1)
            m_in = module.weight.shape[1] * pixels
            m_out = module.weight.shape[0] // groups * pixels
            module.weight.normal_(0.0, 2 / (m_in + m_out), generator=generator)
            if module.bias is not None:
                module.bias.zero_()
