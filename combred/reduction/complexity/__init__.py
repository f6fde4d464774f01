"""Complexity-aware training: units and residual blocks are removed while a network is trained.

Guenter & Sideris, Complexity-Aware Training of Deep Neural Networks for Optimal Structure
Discovery. Takes any network that torch.fx traces, batches and a loss; gives a smaller network of
the same type, trained, and a trace of numbers.

- `pruning`: `train_sparsely`, the entry, and its checkpoint.
- `settings`: the objective.
- `sparse_training`: the algorithm, step by step, and the choices made in it.
- `residuals`, `structure`: the units and blocks that can be removed, and their removal.
- `bernoulli_masks`: the random variables that switch them on and off during training.
- `expected_cost`: the expected cost of a network with masks.
"""
