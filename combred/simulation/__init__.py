"""Ignitions and premixed flames marched with any `Advance`, and their errors against CVODE."""
