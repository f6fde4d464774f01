"""What the tests of reductions share: networks whose every number is drawn, batch norms' too."""

import pytest
import torch
from torch import nn


@pytest.fixture(scope="session")
def drawn():
    """A factory: the network with weights, biases and batch norms drawn from a seed, evaluating.

    No statistic is zero or one, and a third of the batch norms' scales are negative, so that what
    forgets one of them shows.
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
