"""Our own engine: many trajectories in one batch, their keys and values kept while their worlds answer."""
