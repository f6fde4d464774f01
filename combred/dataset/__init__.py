"""Dataset: the states that networks are trained on, their labels, and the HDF5 files of both.

`plan` and `sampling` make the state file (schema: `states`), which training and validation read.
"""
