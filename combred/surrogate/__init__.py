"""The surrogate: transforms, quasi-steady step, network and closure; how it is saved and loaded."""
