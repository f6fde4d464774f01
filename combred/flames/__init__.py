"""Steady one-dimensional flames by Newton's method, with generated rates and their exact Jacobian.

    gas = combred.solver("gri30.yaml")
    flame = combred.flame(gas, 300.0, 101325.0, gas.mechanism.mixture("CH4:1", "O2:1, N2:3.76", 1))

Data flow through the modules in this order: `grid` (refinement), `problems` (what is solved, from a
user's arguments), `result` (the flame), `free` (a freely propagating flame), `speeds` (many of
them). `combred.native.flame_library` solves a flame on a grid.
"""
