"""One hidden layer of a network, as `layers` finds it and `merge` changes it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class HiddenLayer:
    """One set of units that may be merged: neurons of a linear layer, channels of a convolution.

    name: the producer, the linear or convolutional layer that computes the units; of a residual
    layer, the batch norm that reads the stream. units: their number when the layer was found.
    carriers: the modules that hold one row per unit: the producer, then batch norms and depthwise
    convolutions in the order of the data. readers: (name, positions) of the linear and
    convolutional layers that read the units, `positions` inputs of a linear reader for each unit.
    """

    name: str
    units: int
    carriers: tuple[str, ...]
    readers: tuple[tuple[str, int], ...]
    norm: str = ""  # the batch norm right behind the producer, "" if none
    depthwise: str = ""  # the depthwise convolution between producer and readers, "" if none
    homogeneous: bool = True  # sigma(c x) = c sigma(x), c > 0, from the producer to the readers
    bounded: bool = False  # a ReLU6 between them: homogeneous only below 6
    # the first activation: "" (none), "relu" (also ReLU6), "leaky", or "other" (also: not the same
    # on all branches)
    activation: str = ""
    takes_offset: bool = True  # no reader or pooling pads with zeros
    # The units are channels of a residual stream. The stream keeps them all; a `ChannelSelection`
    # picks those that the readers see.
    residual: bool = False
    last_axis: bool = False  # units lie on the last axis (linear layers), not on axis 1

    @property
    def norm_behind(self) -> str:
        """The batch norm behind the depthwise convolution, "" if none."""
        following = self.carriers[self.carriers.index(self.depthwise) + 1 :]
        return following[0] if following else ""
