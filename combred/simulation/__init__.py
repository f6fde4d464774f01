"""Simulation: ignitions, flames and stirred reactors with any `Advance`, and their errors.

`ignition` has CVODE's references and the surrogates that are compared with them; `flame_cases` has
those of the solver in doubles, each a march of `flame`. `free_flame` is Cantera's flame, from
which a march starts. `stirred_reactor` and `counterflow` are not premixed: a partially stirred
reactor of fuel, air and a pilot, and a diffusion flame, which starts from Cantera's
(`counterflow_flame`). `stirred_cases` has the stirred reactors of the validation.
`ignition_errors`, `flame_errors`, `counterflow_errors` and `stirred_errors` compare.
"""
