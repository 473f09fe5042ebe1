"""Losses of whole trajectories."""
