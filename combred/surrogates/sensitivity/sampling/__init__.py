"""The trajectories whose sensitivities a training takes."""
