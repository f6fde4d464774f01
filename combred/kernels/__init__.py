"""The hot operations, behind a thin door. `group` finds the groups of condensed units."""

from combred.kernels.reference import group

__all__ = ["group"]
