"""What is refused, and how a text is shown in a message."""

from typing import Any


def shown(text: Any, most: int = 80) -> str:
    """A text as a message shows it: on one line, and shortened to `most` characters."""
    plain = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(text)[: most + 1])
    return plain if len(plain) <= most else f"{plain[: most - 3]}..."


def one_line(error: Exception) -> str:
    """The message of an error of Cantera, which frames its lines with asterisks, on one line."""
    return " ".join(line.strip() for line in str(error).splitlines() if line.strip(" *"))


def require(condition: bool, message: str) -> None:
    """ValueError(message) unless the condition holds."""
    if not condition:
        raise ValueError(message)
