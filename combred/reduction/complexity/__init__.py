"""Complexity-aware training: units and residual blocks are removed while a network is trained.

Guenter & Sideris, Complexity-Aware Training of Deep Neural Networks for Optimal Structure
Discovery. The entry is `pruning.train_sparsely`; the algorithm is in `sparse_training`.
"""
