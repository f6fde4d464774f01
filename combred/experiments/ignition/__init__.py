"""Ignitions: reactors at constant pressure, marched with any `Advance`."""
