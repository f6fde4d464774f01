"""Partially stirred reactors of particles."""
