"""The language model itself: its shape, its forward pass, its files."""
