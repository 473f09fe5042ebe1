"""Trajectories as training reads them: aligned arrays, how they are laid out, in which order they come."""
