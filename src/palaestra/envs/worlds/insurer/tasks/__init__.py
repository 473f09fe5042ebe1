"""The task families of the Insurer world."""
