"""Settings: one frozen dataclass per stage, and how `key=value` becomes one.

A leaf: imports nothing else of combred. Nothing else reads the command line.
"""
