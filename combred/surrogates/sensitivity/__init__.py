"""Adjoints of delays, flame speeds, peaks and masses, and the rows that they give."""
