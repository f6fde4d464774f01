"""Wide residual network: Zagoruyko & Komodakis (BMVC 2016), WRN-depth-k, without dropout."""

from benchmarks.vision.networks.preactivation import Preactivation


class WideResNet(Preactivation):
    """`depth` = 6n + 4 layers: basic pre-activation blocks of 16k, 32k and 64k channels.

    k is `widening` (WRN-40-4: 8,949,210 parameters); it may be a fraction. The shortcuts between
    stages are 1 x 1 convolutions, which count as layers. ValueError for another depth.
    """

    def __init__(
        self, depth: int = 40, widening: float = 4, in_channels: int = 3, classes: int = 10
    ):
        if depth < 10 or (depth - 4) % 6:
            raise ValueError(f"depth={depth} is not 6n + 4: take 10, 16, 22, 28 or 40")
        widths = [max(1, round(w * widening)) for w in (16, 32, 64)]
        super().__init__(16, widths, (depth - 4) // 6, "basic", in_channels, classes)
