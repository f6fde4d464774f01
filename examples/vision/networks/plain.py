"""Networks without residual sums: LeNet-300-100 and VGG-16 as it is used on CIFAR."""

from collections import OrderedDict

from torch import Tensor, nn

STAGES = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))


class LeNet(nn.Module):
    """pixels-300-100-classes with ReLU: LeCun et al. (Proc. IEEE 86 (1998) 2278).

    266,610 parameters for 28 x 28 grey images and 10 classes.
    """

    def __init__(
        self, pixels: int = 28 * 28, classes: int = 10, hidden: tuple[int, int] = (300, 100)
    ):
        super().__init__()
        self.linear1 = nn.Linear(pixels, hidden[0])
        self.relu1 = nn.ReLU()
        self.linear2 = nn.Linear(hidden[0], hidden[1])
        self.relu2 = nn.ReLU()
        self.classifier = nn.Linear(hidden[1], classes)

    def forward(self, images: Tensor) -> Tensor:
        x = self.relu1(self.linear1(images.flatten(1)))
        return self.classifier(self.relu2(self.linear2(x)))


class VGG16(nn.Module):
    """13 convolutions 3 x 3 in five stages: Simonyan & Zisserman (ICLR 2015), configuration D.

    Batch normalisation follows each convolution, 2 x 2 pooling each stage; the last one averages
    over what is left of the image. The fully connected layers, made for 224 x 224 images, become
    one of `hidden` units (512: Li et al., ICLR 2017, as in Kim et al.; 14,987,722 parameters) or
    none (Liu et al., ICCV 2017, as in Zhang et al.; 14,724,042, 627.36 MFLOP). width: a factor on
    all widths. `features.conv1` to `features.conv13` are the convolutions.
    """

    def __init__(
        self, in_channels: int = 3, classes: int = 10, width: float = 1.0, hidden: int | None = None
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


def initialize_fan_out(network: nn.Module) -> None:
    """Convolutions from N(0, 2 / fan_out), He et al. (ICCV 2015), equation 14."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
