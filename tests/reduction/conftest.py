"""Networks with random weights and batch norm statistics, for all tests of the reduction.

`reducible` is imported from this folder.
"""

import sys
from pathlib import Path

import pytest
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def drawn():
    """A factory: a network with seeded weights, biases and batch norms, in evaluation mode.

    No statistic is zero or one, and a third of the scales of batch norms are negative: code that
    forgets one of them gives a wrong result.
    """

    @torch.no_grad()
    def draw(network: nn.Module, seed: int = 0) -> nn.Module:
        generator = torch.Generator().manual_seed(seed)
        for module in network.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                m = module.num_features
                module.running_mean.normal_(0.0, 0.5, generator=generator)
                module.running_var.uniform_(0.5, 2.0, generator=generator)
                if module.affine:
                    sign = (torch.rand(m, generator=generator) > 0.3).float() * 2.0 - 1.0
                    module.weight.uniform_(0.5, 1.5, generator=generator).mul_(sign)
                    module.bias.normal_(0.0, 0.5, generator=generator)
            elif isinstance(module, (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)):
                size = module.weight[0].numel()
                module.weight.normal_(0.0, (2.0 / size) ** 0.5, generator=generator)
                if module.bias is not None:
                    module.bias.normal_(0.0, 0.3, generator=generator)
        return network.eval()

    return draw
