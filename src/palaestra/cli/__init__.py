"""The `palaestra` command, one file a verb."""

from palaestra.cli.app import main

__all__ = ["main"]
