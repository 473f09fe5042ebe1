"""The state engine: a schema declared once, an immutable base, a journaled overlay, an SQL projection."""

from palaestra.envs.state.base import Base
from palaestra.envs.state.columns import Column
from palaestra.envs.state.overlay import Overlay, OverlaySnapshot
from palaestra.envs.state.projection import SqlProjection
from palaestra.envs.state.schema import Schema, TableInfo

__all__ = ["Base", "Column", "Overlay", "OverlaySnapshot", "Schema", "SqlProjection", "TableInfo"]
