"""Simulation: ignitions, flames and stirred reactors with any `Advance`.

`ignition` is a reactor at constant pressure. `premixed`, `counterflow` and `stirred` march a
premixed flame, a counterflow diffusion flame (both from Cantera's steady flame, `cantera_flame`)
and a partially stirred reactor of fuel, air and a pilot. `combred.validation` has the cases that
are compared, and their errors.
"""
