"""The steps of the pipeline, in order: sample, train, reduce, validate, export, report."""
