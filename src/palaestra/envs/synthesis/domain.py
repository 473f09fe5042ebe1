"""A domain: the words of a trade, for the roles of the mechanisms that it has."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError

from palaestra.envs.blueprints.document import read_plain
from palaestra.errors import BlueprintError
from palaestra.validation import plain_rule

FOLDER = "domains"


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainLexicon:
    """The words of a trade."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    id: str
    title: str
    """Such as "The front desk of a clinic"."""
    agent: str
    """Such as "the front desk of a clinic"."""
    weekends: bool = False
    """Whether it is open on Saturdays and Sundays."""
    person: str
    """Those who ask: singular, plural and prefix, as in `patient, patients, PT-`."""
    staff: str
    """Colleagues, in the same form."""
    case: str
    """What a request is called, such as `inquiry`, with its prefix: `inquiry, INQ-`."""
    team: str
    teams: tuple[str, ...]
    mechanisms: Mapping[str, Mapping[str, Any]]
    """By mechanism: the words of its roles, `singular, plural, PREFIX-`, or `singular, plural` of a role that is no
    entity, such as a unit; its lists of texts; and its texts with a value each, such as the prices of articles."""

    def words(self, mechanism: str) -> dict[str, str]:
        """What stands for `$name` in a mechanism's document.

        Raises:
            BlueprintError: words are not of the form `singular, plural, PREFIX-`, or `singular, plural`.
        """
        found = {**_forms("person", self.person), **_forms("staff", self.staff)}
        for role, value in self.mechanisms[mechanism].items():
            found |= _forms(role, value) if isinstance(value, str) else _list_texts(role, list(value))
        for name, value in self.mechanisms[mechanism].items():
            if isinstance(value, Mapping):
                found |= _value_texts(name, cast("Mapping[str, Any]", value), found)
        return found


def _forms(role: str, text: str) -> dict[str, str]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) not in {2, 3}:
        raise BlueprintError(f"{role}: {text!r}; write `singular, plural, PREFIX-`, or `singular, plural`")
    singular, plural, *prefix = parts
    return {
        role: singular,
        f"{role}_table": plural,
        **{f"{role}_prefix": one for one in prefix},
        f"{role}_word": singular.replace("_", " "),
        f"{role}_words": plural.replace("_", " "),
    }


def _list_texts(name: str, texts: Sequence[str]) -> dict[str, str]:
    """A list of texts as a document's list, and as the options of a choice."""
    return {
        name: "[" + ", ".join(f'"{text}"' for text in texts) + "]",
        f"{name}_choice": "|".join(text.lower().replace(" ", "_").replace("-", "_") for text in texts),
    }


def _value_texts(name: str, values: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, str]:
    """The value that follows from a row's text, as an expression; and the first text of each value that is a word."""
    role, _, field = name.rpartition("_")
    path = f"{words[role]}.{field.removesuffix('s')}"
    texts: dict[str | int, list[str]] = {}
    for text, value in values.items():
        texts.setdefault(value, []).append(text)
    *others, last = (json.dumps(value) for value in texts)
    cases = [f"{value} if {path} in {json.dumps(of)} else" for value, of in zip(others, texts.values(), strict=False)]
    firsts = {f"{name}_{value}": of[0] for value, of in texts.items() if isinstance(value, str)}
    return {f"{name}_value": " ".join([*cases, last]), **firsts}


_DOMAIN = TypeAdapter(DomainLexicon)


@cache
def domains() -> Mapping[str, DomainLexicon]:
    """Every domain, by id."""
    found = sorted(files("palaestra.envs.synthesis").joinpath(FOLDER).iterdir(), key=lambda file: file.name)
    read = [_read(file.name, file.read_text("utf-8")) for file in found if file.name.endswith(".yaml")]
    return {one.id: one for one in read}


def _read(name: str, text: str) -> DomainLexicon:
    try:
        return _DOMAIN.validate_python(read_plain(text, source=name))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BlueprintError(f"domain {name}: {place}: {plain_rule(first['msg'])}; correct the document") from None
