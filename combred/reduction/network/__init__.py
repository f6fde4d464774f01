"""A traced network: its layers, paths, size, and the surgery on them."""
