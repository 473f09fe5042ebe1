"""Training from beginning to end: settings, learners, loops, and what a run leaves behind."""
