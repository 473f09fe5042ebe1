"""TextWorld: text adventures made from seeds, through Microsoft's textworld."""
