"""Stirred reactors judged: cases and errors."""
