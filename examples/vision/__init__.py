"""The image networks of the four papers whose methods `combred.reduction` has.

    python -m examples.vision.neuron_merging                     digits, narrow networks, minutes
    python -m examples.vision.neuron_merging --data FOLDER       the published images, hours

One script for each paper: it trains the paper's networks, reduces them, and prints our results
beside its own. `networks` holds the networks, `images` the readers, `training` the training loop.
"""
