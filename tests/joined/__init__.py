"""Worlds joined from mechanisms and domains, for tests."""
