"""The task families of the Shop world."""
