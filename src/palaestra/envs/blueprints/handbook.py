"""The handbook of a blueprint's world: its rules, their variants, and the sections that state them."""

from collections.abc import Mapping
from dataclasses import asdict, make_dataclass
from datetime import date
from typing import Any

from palaestra.envs.blueprints.blueprint import Blueprint
from palaestra.envs.blueprints.expressions import Frame
from palaestra.envs.blueprints.scopes import Scopes
from palaestra.envs.blueprints.templates import Template, parse_template
from palaestra.envs.kit import HandbookVariants, Section, section
from palaestra.protocols import R
from palaestra.records import Json


class HandbookText:
    """The sections of a handbook as texts over rules.

    Raises:
        BlueprintError: a text cannot be read.
    """

    def __init__(self, blueprint: Blueprint, scopes: Scopes) -> None:
        self._titles = {key: spec.title for key, spec in blueprint.handbook.items()}
        self._texts: Mapping[str, Template] = {
            key: parse_template(spec.text, scopes.rules) for key, spec in blueprint.handbook.items()
        }

    def sections(self, rules: Any, today: date) -> list[Section]:
        """The sections under these rules."""
        frame = Frame(state=_NoRows(), kinds={}, rules=rules, today=today, names={})
        return [section(key, self._titles[key], text.fill(frame)) for key, text in self._texts.items()]

    def stating(self) -> dict[str, tuple[str, ...]]:
        """By rule: the sections that state it."""
        found: dict[str, list[str]] = {}
        for key, text in self._texts.items():
            for name in sorted(text.rules):
                found.setdefault(name, []).append(key)
        return {name: tuple(keys) for name, keys in found.items()}


class _NoRows:
    def get(self, kind: type[R], key: str) -> R:
        raise LookupError(f"{kind.table} {key}: the handbook speaks of no row")

    def find(self, kind: type[R], /, **equal: Json) -> list[R]:
        raise LookupError(f"{kind.table} {equal}: the handbook speaks of no row")


def make_rules(blueprint: Blueprint) -> HandbookVariants[Any]:
    """The rules of a blueprint and their variants."""

    # Any: a class that is made here has no type of its own.
    def reduce(self: Any) -> tuple[Any, ...]:
        return _restore, (blueprint, asdict(self))

    made = make_dataclass(
        "Rules",
        [(name, int, spec.value) for name, spec in blueprint.rules.items()],
        frozen=True,
        slots=True,
        kw_only=True,
        namespace={"__module__": __name__, "__reduce__": reduce},
    )
    changes: dict[str, tuple[Any, ...]] = {
        name: tuple(spec.instead) for name, spec in blueprint.rules.items() if spec.instead
    }
    return HandbookVariants(stream=f"{blueprint.id}-rules", own=made(), changes=changes)


def _restore(blueprint: Blueprint, values: Mapping[str, int]) -> Any:
    """The rules that a pickle holds."""
    from palaestra.envs.blueprints.compilation import compile_blueprint  # noqa: PLC0415  it makes their class

    return type(compile_blueprint(blueprint).rules.own)(**values)
