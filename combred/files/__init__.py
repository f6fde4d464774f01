"""Files: JSON records, HDF5, archives of torch, traces and parts of what can be resumed."""
