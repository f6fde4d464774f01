"""Files: JSON records, HDF5, archives of torch, checkpoints."""
