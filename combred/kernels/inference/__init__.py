"""A surrogate of the state alone as one Triton kernel (`fused_surrogate`), and its fallback in torch
(`eager`)."""
