"""The state engine: a schema declared once, an immutable base, a journaled overlay, an SQL projection."""

from palaestra.envs.state.attached import AttachedOverlay, overlay_on
from palaestra.envs.state.base import Base
from palaestra.envs.state.columns import Column
from palaestra.envs.state.files import FileEntry, FileLimits, FileTree
from palaestra.envs.state.overlay import Overlay, OverlaySnapshot
from palaestra.envs.state.projection import SqlProjection
from palaestra.envs.state.schema import Schema, TableInfo

__all__ = [
    "AttachedOverlay",
    "Base",
    "Column",
    "FileEntry",
    "FileLimits",
    "FileTree",
    "Overlay",
    "OverlaySnapshot",
    "Schema",
    "SqlProjection",
    "TableInfo",
    "overlay_on",
]
