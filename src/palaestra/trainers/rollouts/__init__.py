"""How trajectories come about: a policy and a world take turns, many pairs at once, and none waits for another."""
