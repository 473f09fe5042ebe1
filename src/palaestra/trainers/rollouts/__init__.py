"""Playing trajectories: a policy and a world take turns, in many pairs at once that do not wait for each other."""
