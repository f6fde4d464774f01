"""Dataset: the states that networks are trained on, their labels, and the HDF5 files of both.

`plan` and `sampling` make the state file, of `premixed_states` or `flow`; training and
validation read it with `state_table`. Its schema is in `states`.
"""
