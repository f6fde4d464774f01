"""Public names of a package that are loaded at their first use, and what is not installed.

Imports nothing of combred.
"""

import difflib
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

TRAIN = ("torch", "h5py", "safetensors", "pytorch_optimizer")  # packages of the extra `train`


class PackageMissing(ImportError):
    """A package of the extra `train` is not installed; the message has the line to type."""


@contextmanager
def needing_train(what: str) -> Iterator[None]:
    """A context for imports that need packages of the extra `train`. Raises PackageMissing, with
    `what` needs them, where one is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        if package not in TRAIN:
            raise
        raise PackageMissing(
            f"{what} needs {package}, which is not installed: pip install 'combred[train]'; in a "
            'clone: pip install -e ".[train]" -c constraints.txt'
        ) from error


def loader(package: str, homes: dict[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package. homes: public name -> where it is defined, "module" or
    "module:attribute", under `combred`. An unknown name raises AttributeError with the nearest one,
    a missing package PackageMissing."""

    def __getattr__(name: str) -> Any:
        if name not in homes:
            lower = {known.lower(): known for known in homes}
            near = difflib.get_close_matches(name.lower(), lower, n=1)
            hint = f"; did you mean {lower[near[0]]}?" if near else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        module, _, attribute = homes[name].partition(":")
        with needing_train(f"{package}.{name}"):
            home = importlib.import_module(f"combred.{module}")
        return getattr(home, attribute) if attribute else home

    return __getattr__
