"""Ways to die while a file is being written."""
