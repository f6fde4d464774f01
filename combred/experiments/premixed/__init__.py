"""Premixed flames: with any `Advance`, and Cantera's as a start."""
