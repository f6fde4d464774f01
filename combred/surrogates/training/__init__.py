"""Training of a network: loop, batches, losses, optimisers, schedules, checkpoints, devices."""
