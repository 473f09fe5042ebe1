"""Palaestra."""
