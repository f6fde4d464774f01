"""The surrogate: transforms, quasi-steady-state step, network, closure; its files and its card."""
