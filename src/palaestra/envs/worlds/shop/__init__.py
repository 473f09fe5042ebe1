"""The Shop world: a customer's own account at the PC-hardware retailer of the Storefront world.

Importing this populates nothing; `gymnasium.make("palaestra/Shop-v0")` does.
"""
