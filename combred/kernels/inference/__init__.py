"""The surrogate in one launch: Triton kernels, and the eager twin."""
