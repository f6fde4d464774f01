"""The hot operations, behind a thin door. `group` finds the groups of condensed units.

`reference` defines them; `cpu` is the same, fast, and what is used.
"""

from combred.kernels.cpu import group

__all__ = ["group"]
