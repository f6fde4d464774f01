"""The image networks of the papers: traceable by torch.fx, every layer a named module.

Images are (n, in_channels, height, width), float; the output (n, classes) are logits.
"""

from examples.vision.networks.mobilenet import MobileNetV2, initialize_condensing
from examples.vision.networks.plain import VGG16, LeNet
from examples.vision.networks.residual import PreactivationResNet, ResNet, WideResNet

__all__ = [
    "LeNet",
    "MobileNetV2",
    "PreactivationResNet",
    "ResNet",
    "VGG16",
    "WideResNet",
    "initialize_condensing",
]
