"""The language model: its shape, its forward pass and its files."""
