"""VGG-16 with batch normalisation, as it is used on CIFAR.

Simonyan & Zisserman (ICLR 2015), configuration D. The three wide fully connected layers, made for
224 x 224 images, are replaced by one hidden layer of 512 (Li et al., ICLR 2017, which Kim et al.
follow: 14,987,722 parameters) or by none (Liu et al., ICCV 2017, which Zhang et al. follow:
14,724,042 parameters, 627.36 MFLOP).
"""

from collections import OrderedDict

from torch import Tensor, nn

from benchmarks.vision.networks.initialization import initialize_fan_out

STAGES = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))


class VGG16(nn.Module):
    """13 convolutions 3 x 3 in five stages, with 2 x 2 pooling after each.

    The last pooling averages over what is left of the image (2 x 2 of 32 x 32), so that 16 x 16
    images do too. width: a factor on all widths. hidden: width of the fully connected hidden layer
    before that factor, None for none. `features.conv1` to `features.conv13` are the convolutions,
    without bias, since batch normalisation follows.
    """

    def __init__(
        self,
        in_channels: int = 3,
        classes: int = 10,
        width: float = 1.0,
        hidden: int | None = None,
    ):
        super().__init__()
        modules: OrderedDict[str, nn.Module] = OrderedDict()
        channels, index = in_channels, 0
        for stage, widths in enumerate(STAGES, start=1):
            for out in (max(1, round(w * width)) for w in widths):
                index += 1
                modules[f"conv{index}"] = nn.Conv2d(channels, out, 3, padding=1, bias=False)
                modules[f"norm{index}"] = nn.BatchNorm2d(out)
                modules[f"relu{index}"] = nn.ReLU()
                channels = out
            if stage < len(STAGES):
                modules[f"pool{stage}"] = nn.MaxPool2d(2)
        self.features = nn.Sequential(modules)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Sequential()
        if hidden is not None:
            out = max(1, round(hidden * width))
            self.head.add_module("linear", nn.Linear(channels, out))
            self.head.add_module("norm", nn.BatchNorm1d(out))
            self.head.add_module("relu", nn.ReLU())
            channels = out
        self.classifier = nn.Linear(channels, classes)
        initialize_fan_out(self)

    def forward(self, images: Tensor) -> Tensor:
        return self.classifier(self.head(self.pool(self.features(images)).flatten(1)))
