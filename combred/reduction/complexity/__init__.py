"""Complexity-aware training: a network loses units and whole residual blocks while it is trained.

Guenter & Sideris, Complexity-Aware Training of Deep Neural Networks for Optimal Structure
Discovery. Takes any network that torch.fx traces, batches and a loss; gives a smaller network of
the same type, trained, and a trace of numbers. `structure` finds what can go, `masks` switches it,
`expected_cost` prices it, `sparse_training` holds the algorithm and the choices made in it.
"""
