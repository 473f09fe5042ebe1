"""Engines, which sample tokens: the interface and its implementations."""
