"""The image networks of the four papers, and one script per published table.

    python -m benchmarks.vision.neuron_merging                     digits, narrow networks, minutes
    python -m benchmarks.vision.neuron_merging --data FOLDER       the published images, hours

Each script trains and reduces the networks of a paper, and prints our results beside its own.
`networks` holds the networks, `images` the readers of the published files, `fit` the training,
`automatic_figures` the figures of an automatic reduction.
"""
