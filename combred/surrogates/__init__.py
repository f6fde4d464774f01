"""Neural surrogates of a mechanism's chemistry: states, their sampling and labels, training, model.

Rooms, in the order of their imports: `model` (transforms, quasi-steady-state step, network,
closure), `files` (storage, card, shipped models, TorchScript), `library` (what a network adds to a
compiled library), `dataset`, `sampling`, `sensitivity`, `training`; `timing` of all solvers.
"""
