"""The image networks of the four papers, and one script per published table.

    python -m benchmarks.vision.neuron_merging                     digits, narrow networks, minutes
    python -m benchmarks.vision.neuron_merging --data FOLDER       the published images, hours

Each script trains, reduces, and prints our row beside the paper's. `networks` are the networks,
`images` the readers of the published files, `fit` the training.
"""
