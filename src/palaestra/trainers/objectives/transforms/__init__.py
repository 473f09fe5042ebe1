"""Advantages made from advantages."""
