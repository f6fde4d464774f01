"""Experiments: ignitions, flames and stirred reactors with any `Advance`, and their errors.

`ignition` is a reactor at constant pressure. `premixed`, `counterflow` and `stirred` march a
premixed flame, a counterflow diffusion flame (both from Cantera's steady flame, `cantera_flame`)
and a partially stirred reactor of fuel, air and a pilot. In each, the class in `experiment` has its
cases, references, answers and errors (`combred.experiments.experiment`).
"""
