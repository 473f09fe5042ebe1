"""The Insurer world: the claims department of a property and motor insurer.

Importing this populates nothing; `gymnasium.make("palaestra/Insurer-v0")` does.
"""
