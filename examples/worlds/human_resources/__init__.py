"""A human-resources desk: a world pack of one's own, written on `palaestra.envs.kit`."""
