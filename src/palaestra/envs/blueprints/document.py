"""Blueprints as YAML or JSON text, with the line of every part.

The text is bounded in size and depth, has no anchors and no tags, and its plain scalars are whole numbers, `true`,
`false`, `null` and texts: `on`, `yes` and `2026-01-01` are texts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import yaml
from pydantic import TypeAdapter, ValidationError

from palaestra.envs.blueprints.blueprint import Blueprint
from palaestra.envs.blueprints.problems import BlueprintProblem, Places, raise_problems
from palaestra.errors import UnknownNameError
from palaestra.validation import plain_rule

MAX_BYTES = 262_144
"""The largest document."""
MAX_DEPTH = 12
"""The deepest that mappings and lists stand within each other."""

_YAML_RULE = (
    "the keys of one mapping begin in the same column, and a text that holds a colon and a space stands in quotes; "
    "correct this line or the one before"
)
_EXAMPLES: Mapping[str | int, str] = {"plant": ", such as `plant: [{set: loan.extensions, to: rules.most_extensions}]`"}
"""By key: what a message on a missing one adds."""

# Any: plain data as a document holds it; pydantic makes records of it at once.
Plain: TypeAlias = Any
_ADAPTER = TypeAdapter(Blueprint)
_INTEGER = re.compile(r"[-+]?(0|[1-9]\d*)")
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}
# Any: what the library's dumper is typed as is partly unknown.
_yaml: Any = yaml
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_blueprint(text: str, *, source: str = "blueprint") -> tuple[Blueprint, Places]:
    """The blueprint of a document, and the lines of its parts. Its expressions are not read yet.

    Args:
        text: YAML or JSON.
        source: How messages call the document, such as its path.

    Raises:
        BlueprintError: the text is no such document; the message lists line, rule and fix of everything that is wrong.
    """
    places = Places(source)
    if len(text.encode()) > MAX_BYTES:
        raise_problems(
            [BlueprintProblem(places.at(()), f"the document has more than {MAX_BYTES} bytes; make it smaller")]
        )
    plain = _read_plain(text, places)
    try:
        return _ADAPTER.validate_python(plain), places
    except ValidationError as error:
        raise_problems([_problem(places, plain, one) for one in error.errors(include_url=False)])


def read_plain(text: str, *, source: str) -> dict[str, Plain]:
    """The plain data of a document that is no whole blueprint, under the same bounds.

    Raises:
        BlueprintError: the text is no such document.
    """
    found: dict[str, Plain] = _read_plain(text, Places(source))
    return found


def load_blueprint(path: Path) -> tuple[Blueprint, Places]:
    """The blueprint in a file.

    Raises:
        BlueprintError: as `read_blueprint` has it.
    """
    return read_blueprint(path.read_text(encoding="utf-8"), source=str(path))


def dump_blueprint(blueprint: Blueprint) -> str:
    """The document of a blueprint: YAML that `read_blueprint` reads as an equal one. Defaults are left out."""
    text: str = _yaml.safe_dump(_as_plain(blueprint), sort_keys=False, width=110, allow_unicode=True)
    return text


def _as_plain(value: Any) -> Plain:
    """Plain data of a part, without what it has by default. A `null` that a mapping states is kept."""
    if is_dataclass(value):
        stated = ((one.name, getattr(value, one.name)) for one in fields(value) if not _is_default(value, one))
        return {name: _as_plain(part) for name, part in stated}
    if isinstance(value, Mapping):
        whole = cast("Mapping[str, Any]", value)
        return {key: _as_plain(part) for key, part in whole.items()}
    if isinstance(value, (list, tuple)):
        return [_as_plain(part) for part in cast("Sequence[Any]", value)]
    plain: Plain = value
    return plain


def _is_default(part: Any, one: Field[Any]) -> bool:
    value = getattr(part, one.name)
    if one.default_factory is not MISSING:
        return bool(value == one.default_factory())
    return one.default is not MISSING and bool(value == one.default)


def _read_plain(text: str, places: Places) -> Plain:
    try:
        _check_events(text, places)
        root = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = places.at_line(mark.line + 1) if mark is not None else places.at(())
        raise_problems([BlueprintProblem(where, f"this is no YAML: {error.problem}; {_YAML_RULE}")])
    except yaml.YAMLError as error:
        raise_problems([BlueprintProblem(places.at(()), f"this is no YAML: {error}; {_YAML_RULE}")])
    if not isinstance(root, yaml.MappingNode):
        raise_problems([BlueprintProblem(places.at(()), "a blueprint is a mapping; begin with `id: my-world`")])
    return _plain(root, (), places)


def _check_events(text: str, places: Places) -> None:
    """Refuse anchors, aliases, tags and depth before anything is built of them."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        line = places.at_line(event.start_mark.line + 1 if event.start_mark is not None else 1)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise_problems([BlueprintProblem(line, "anchors and aliases are not read; write the part out")])
        if (tag := getattr(event, "tag", None)) is not None:
            raise_problems([BlueprintProblem(line, f"the tag {tag!r} is not read; leave tags out")])
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise_problems(
                [BlueprintProblem(line, f"parts stand deeper than {MAX_DEPTH} levels; flatten the document")]
            )


def _plain(node: yaml.Node, path: tuple[str | int, ...], places: Places) -> Plain:
    places.add(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Plain] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            here = (*path, name)
            if not name or name in found:
                line = places.at_line(key.start_mark.line + 1)
                raise_problems(
                    [BlueprintProblem(line, f"the key {name!r} is empty or stands twice; give each part one name")]
                )
            found[name] = _plain(value, here, places)
            places.add(here, key.start_mark.line + 1)
        return found
    if isinstance(node, yaml.SequenceNode):
        return [_plain(part, (*path, number), places) for number, part in enumerate(node.value)]
    return _scalar(node)


def _scalar(node: yaml.Node) -> Plain:
    text: str = node.value
    if getattr(node, "style", None) in {"'", '"', "|", ">"}:
        return text
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    return int(text) if _INTEGER.fullmatch(text) else text


def _problem(places: Places, plain: Plain, error: Any) -> BlueprintProblem:
    """What pydantic found wrong, in the words of a document."""
    path = tuple(_path_in(plain, error["loc"]))
    match error["type"]:
        case "missing" | "missing_argument" | "missing_keyword_only_argument":
            name = error["loc"][-1]
            return BlueprintProblem(
                places.at(path[:-1] if path and path[-1] == name else path),
                f"`{name}` is missing; add it{_EXAMPLES.get(name, '')}",
            )
        case "unexpected_keyword_argument" | "extra_forbidden":
            known = _keys_beside(path)
            return BlueprintProblem(places.at(path), str(UnknownNameError.of("key", str(error["loc"][-1]), known)))
        case _:
            value = repr(error["input"])[:60]
            rule = plain_rule(error["msg"])
            said = rule[:1].lower() + rule[1:]
            return BlueprintProblem(places.at(path), f"{value}: {said}; write what this key takes")


def _path_in(plain: Plain, location: tuple[str | int, ...]) -> Iterator[str | int]:
    """The part of pydantic's location that the document has: it names types as well."""
    for number, part in enumerate(location):
        if _has_part(plain, part):
            plain = plain[part]
            yield part
        elif number == len(location) - 1:
            yield part


def _has_part(plain: Plain, part: str | int) -> bool:
    if isinstance(plain, dict):
        return part in cast("dict[object, Plain]", plain)
    return isinstance(plain, list) and isinstance(part, int) and part < len(plain)  # pyright: ignore[reportUnknownArgumentType]


def _keys_beside(path: tuple[str | int, ...]) -> list[str]:
    """The keys that a part may have where an unknown one stands."""
    schema: Any = _ADAPTER.json_schema()
    found = schema
    for part in path[:-1]:
        found = _resolve(schema, found)
        found = found.get("items", {}) if isinstance(part, int) else _property(schema, found, part)
    return list(_resolve(schema, found).get("properties", {}))


def _property(schema: Any, found: Any, name: str) -> Any:
    named = found.get("properties", {}).get(name)
    return named if named is not None else found.get("additionalProperties", {})


def _resolve(schema: Any, found: Any) -> Any:
    if "anyOf" in found:
        options: list[Any] = [one for one in found["anyOf"] if one.get("type") != "null"]
        found = options[0] if options else {"properties": {}}
    while "$ref" in found:
        found = schema["$defs"][found["$ref"].rpartition("/")[2]]
    return found
