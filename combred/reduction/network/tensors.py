"""Tensors of modules by their names: to a type checker, an attribute of a module is any of many."""

from torch import Tensor, nn


def tensor_of(module: nn.Module, name: str = "weight") -> Tensor:
    """The parameter or buffer of a module; TypeError where it has none of this name."""
    tensor = getattr(module, name)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} of {type(module).__name__} is {tensor!r}, no tensor")
    return tensor


def bias_of(module: nn.Module) -> Tensor | None:
    """The bias of a linear or convolutional layer, None where it has none."""
    return None if module.bias is None else tensor_of(module, "bias")
