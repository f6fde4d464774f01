"""Groups of condensed units: the definition, and the same for CPUs and, in Triton, for GPUs."""
