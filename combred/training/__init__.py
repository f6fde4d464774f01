"""Training a network: loop, batches, losses, optimizers, schedules, checkpoints, devices."""
