"""What all requests of a blueprint share."""

from collections.abc import Mapping
from dataclasses import dataclass

from palaestra.envs.blueprints.blueprint import Blueprint
from palaestra.envs.blueprints.row_drawing import RowDrawing
from palaestra.envs.blueprints.scopes import Scopes
from palaestra.envs.blueprints.styled_tools import StyledTools
from palaestra.envs.blueprints.tools import Action
from palaestra.envs.state import Schema
from palaestra.records import Row
from palaestra.tools import Toolbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What all requests of a blueprint share."""

    blueprint: Blueprint
    scopes: Scopes
    kinds: Mapping[str, type[Row]]
    schema: Schema
    drawing: RowDrawing
    """What draws its rows."""
    toolbox: Toolbox
    """The plain tools, with which solutions are planned."""
    styled: StyledTools
    """The tools in the world's style, in which solutions are written."""
    actions: Mapping[str, Action]
    role: str
    actor: str
