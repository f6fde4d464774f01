"""Solvers that a user would take instead of a surrogate, in C++ with generated reaction rates.

For `benchmarks.work_precision`; README.md of this folder says what they are and where they come
from.
"""
