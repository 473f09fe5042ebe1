"""What happens around a step: rewards changed, trajectories left out, learning rates scaled."""
