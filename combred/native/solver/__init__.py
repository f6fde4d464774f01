"""A stiff solver generated from a mechanism: C++ in SIMD lanes, as a library and an `Advance`."""

from combred.native.solver.generator import generate
from combred.native.solver.library import Solution, Solver, solver

__all__ = ["Solution", "Solver", "generate", "solver"]
