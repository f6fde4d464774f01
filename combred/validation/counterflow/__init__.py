"""Counterflow flames judged."""
