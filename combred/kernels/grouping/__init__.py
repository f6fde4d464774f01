"""The groups of condensed units: definition, CPU and Triton."""
