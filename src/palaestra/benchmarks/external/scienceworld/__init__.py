"""ScienceWorld: science experiments in a text world, through the scienceworld package."""
