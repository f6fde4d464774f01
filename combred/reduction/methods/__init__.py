"""The reduction methods: each answers, for one hidden layer, `Merge(kept, mixing)`."""
