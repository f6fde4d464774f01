"""Ignitions judged: delays and their errors."""
