"""Hypothesis for every test: the same examples each time, and no clock on a machine that others share."""

from hypothesis import settings

settings.register_profile("palaestra", deadline=None, derandomize=True)
settings.load_profile("palaestra")
