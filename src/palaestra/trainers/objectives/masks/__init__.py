"""Which tokens a step is without."""
