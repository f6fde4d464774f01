"""The command `python -m combred.pipeline`: its steps, its run folder, its console."""
