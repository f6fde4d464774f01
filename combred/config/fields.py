"""A setting as a field of a dataclass, and what is refused."""

from dataclasses import field
from typing import Any


def setting(default: Any, help: str, unit: str = "") -> Any:
    """A dataclass field with its unit and one line of help."""
    metadata = {"help": help, "unit": unit}
    if isinstance(default, (list, dict)):
        return field(default_factory=lambda: type(default)(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def require(condition: bool, message: str) -> None:
    """ValueError(message) unless the condition holds."""
    if not condition:
        raise ValueError(message)


def is_positive(text: str) -> bool:
    """Whether a text is a positive number."""
    try:
        return float(text) > 0
    except ValueError:
        return False
