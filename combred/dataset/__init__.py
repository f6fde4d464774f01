"""Dataset: the states that networks are trained on, their labels, and the HDF5 files of both.

`plan` and `sampling` make the state file (schema: `states`), `segment_sampling` the trajectory
segments (schema: `segments`). Training and validation read both.
"""
