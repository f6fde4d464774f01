"""LeNet-300-100, the fully connected network of LeCun et al. (Proc. IEEE 86 (1998) 2278)."""

from torch import Tensor, nn


class LeNet(nn.Module):
    """pixels-300-100-classes with ReLU; 266,610 parameters for 28 x 28 grey images, 10 classes."""

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
