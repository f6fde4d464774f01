"""The map from a state to the state dt later: transform, QSS step, network, closure; two forms."""
