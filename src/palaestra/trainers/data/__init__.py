"""Trajectories as training reads them: aligned arrays, their layout and their order."""
