"""Files: JSON records, HDF5, archives of torch, traces of what can be resumed."""
