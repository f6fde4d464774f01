"""Premixed flames judged: cases and errors."""
