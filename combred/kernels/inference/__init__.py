"""A surrogate of the state alone as one Triton kernel (`fused_surrogate`), its fallback in torch
(`eager`), and the quasi-steady-state step in Triton (`fused_quasi_steady`), which no surrogate uses
yet."""
