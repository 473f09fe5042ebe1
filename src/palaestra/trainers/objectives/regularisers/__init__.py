"""Losses beside the main one."""
