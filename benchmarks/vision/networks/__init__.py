"""The image networks of the papers: traceable by torch.fx, every layer a named module.

Images are (n, in_channels, height, width), float; the output (n, classes) are logits.
"""

from benchmarks.vision.networks.lenet import LeNet
from benchmarks.vision.networks.mobilenet import MobileNetV2, initialize_condensing
from benchmarks.vision.networks.preactivation import PreactivationResNet
from benchmarks.vision.networks.resnet import ResNet
from benchmarks.vision.networks.vgg import VGG16
from benchmarks.vision.networks.wide_resnet import WideResNet

__all__ = [
    "LeNet",
    "MobileNetV2",
    "PreactivationResNet",
    "ResNet",
    "VGG16",
    "WideResNet",
    "initialize_condensing",
    "n_parameters",
]


def n_parameters(network) -> int:
    """Number of trainable parameters of a network, including those of batch normalisation."""
    return sum(p.numel() for p in network.parameters())
