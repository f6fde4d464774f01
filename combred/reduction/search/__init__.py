"""The search for the smallest network that meets given limits."""
