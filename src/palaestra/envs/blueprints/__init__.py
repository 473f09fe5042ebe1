"""Worlds as documents: a blueprint is checked and compiled to an ordinary `World` with tasks, solutions and rubrics."""

from pathlib import Path

from palaestra.envs.blueprints.blueprint import (
    ActionSpec,
    Blueprint,
    Creation,
    EntitySpec,
    FieldSpec,
    ParameterSpec,
    Plant,
    QuestionSpec,
    RefusalSpec,
    RequestSpec,
    Requirement,
    RuleSpec,
    SectionSpec,
    WorkStep,
)
from palaestra.envs.blueprints.checking import check_blueprint
from palaestra.envs.blueprints.compilation import CompiledBlueprint, compile_blueprint
from palaestra.envs.blueprints.document import dump_blueprint, load_blueprint, read_blueprint
from palaestra.envs.blueprints.problems import raise_problems
from palaestra.envs.blueprints.template import write_template
from palaestra.envs.blueprints.tool_style import ToolStyle
from palaestra.envs.world import World


def load_world(path: Path) -> World:
    """The world of a blueprint in a file.

    Raises:
        BlueprintError: the file is no blueprint, or breaks rules; the message lists line, rule and fix of each problem.
    """
    blueprint, places = load_blueprint(path)
    if problems := check_blueprint(blueprint, places):
        raise_problems(problems)
    return compile_blueprint(blueprint).world


__all__ = [
    "ActionSpec",
    "Blueprint",
    "CompiledBlueprint",
    "Creation",
    "EntitySpec",
    "FieldSpec",
    "ParameterSpec",
    "Plant",
    "QuestionSpec",
    "RefusalSpec",
    "RequestSpec",
    "Requirement",
    "RuleSpec",
    "SectionSpec",
    "ToolStyle",
    "WorkStep",
    "check_blueprint",
    "compile_blueprint",
    "dump_blueprint",
    "load_blueprint",
    "load_world",
    "read_blueprint",
    "write_template",
]
