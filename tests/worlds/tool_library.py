"""The tool library of the examples, compiled, for tests."""

from functools import cache
from pathlib import Path
from typing import Any

from palaestra.envs.blueprints import Blueprint, CompiledBlueprint, compile_blueprint, load_blueprint
from palaestra.envs.blueprints.expressions import EvaluationTrace, Frame, Scope, ValueType
from palaestra.envs.blueprints.scopes import Scopes
from palaestra.envs.state import Overlay

PATH = Path("examples/blueprints/tool_library.yaml")
SEED = 1_000


@cache
def blueprint() -> Blueprint:
    return load_blueprint(PATH)[0]


@cache
def compiled() -> CompiledBlueprint:
    return compile_blueprint(blueprint())


def state() -> Overlay:
    return Overlay(compiled().world.base(SEED))


@cache
def scope() -> Scope:
    """What expressions about a loan may name."""
    return Scopes(blueprint()).whole.with_variables(loan=ValueType("row", "loan"))


def frame(rows: Overlay, loan: str, *, trace: EvaluationTrace | None = None) -> Frame:
    world = compiled().world
    # Any: the class of the rules is made from the blueprint.
    rules: Any = compiled().rules.own
    today = world.start(SEED).date()
    return Frame(state=rows, kinds=compiled().kinds, rules=rules, today=today, names={"loan": loan}, trace=trace)
