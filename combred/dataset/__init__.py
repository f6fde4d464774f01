"""The states that networks are trained on, their labels, and the HDF5 files that hold them."""
