"""A surrogate of the state alone as one Triton kernel (`fused_surrogate`), and the same in torch
(`eager`)."""
