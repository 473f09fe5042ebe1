"""The `palaestra` command, with one file per subcommand."""

from palaestra.cli.app import main

__all__ = ["main"]
