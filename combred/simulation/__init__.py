"""Simulation: 0D ignitions and 1D premixed flames with any `Advance`, and their errors.

`ignition` and `flame` march CVODE's references and the surrogates that are compared with them.
`ignition_errors` and `flame_errors` compare. `free_flame` is Cantera's flame, from which a march
starts.
"""
