"""Attacks on combred, counted: hostile settings, damaged files, hostile states, kills.

`benchmarks.attacks` runs them by hand, tests/robustness a seeded part of them in every test run.
"""
