"""Many numbers as one constant of a Triton program."""

import hashlib


class Constants:
    """Many numbers that are told apart by a digest, taken once: Triton compares and prints the
    constants of a kernel in every launch. A base for frozen dataclasses without repr and eq."""

    digest: str

    def __post_init__(self):
        told = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        object.__setattr__(self, "digest", hashlib.sha256(told.encode()).hexdigest())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.digest})"

    def __eq__(self, other: object) -> bool:
        return repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(self.digest)
