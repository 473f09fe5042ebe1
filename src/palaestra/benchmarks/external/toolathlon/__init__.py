"""Toolathlon: office work over files, those of its tasks that need no service."""
