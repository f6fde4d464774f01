"""The steps of the pipeline: each reads what an earlier one left in the folder of a run, and leaves
one thing and its numbers there. What is there and of these settings is not made again."""
