"""The search for the smallest network that keeps given limits: `shrink_until`, and its memory."""
