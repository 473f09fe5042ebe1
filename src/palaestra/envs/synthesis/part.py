"""A mechanism: a part of a blueprint with roles in place of names, and what may be varied.

A mechanism's document has the keys of a blueprint. Names of roles and of varied values stand as `$name`, and a domain
gives the words of each role:

| written | becomes |
|---|---|
| `$booking` | the entity's name, `appointment` |
| `$booking_table` | its plural, `appointments` |
| `$booking_prefix` | what its ids begin with, `AP-` |
| `$booking_word`, `$booking_words` | the same for people, "appointment", "appointments" |
| `$unit`, `$unit_table`, `$unit_word`, `$unit_words` | the words of a role that is no entity, "copy", "copies" |
| `$reasons` | a list of texts, `["Late fee", "Repair"]` |
| `$reasons_choice` | the same as the options of a choice, `late_fee|repair` |
| `$article_titles_value` | where each text has a value: the value of an `$article` by its title, as an expression |
| `$consent_purposes_contract` | where these values are words: the first text with the value `contract` |
| `$person`, `$staff` and their forms | those who ask, and colleagues |

A *block* is a rule by which one mechanism closes requests of others, such as arrears: a refusal about whoever asks
(`asker`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from palaestra.envs.blueprints import (
    ActionSpec,
    EntitySpec,
    RefusalSpec,
    RequestSpec,
    RuleSpec,
    SectionSpec,
)
from palaestra.envs.blueprints.document import read_plain
from palaestra.envs.kit.generated import has_initial_vowel_sound
from palaestra.errors import BlueprintError
from palaestra.seeding import Stream
from palaestra.validation import plain_rule

FOLDER = "mechanisms"


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismPart:
    """A mechanism in a domain's words: a part of a blueprint."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    entities: Mapping[str, EntitySpec]
    rules: Mapping[str, RuleSpec]
    handbook: Mapping[str, SectionSpec]
    actions: Mapping[str, ActionSpec]
    requests: Mapping[str, RequestSpec]
    blocks: tuple[RefusalSpec, ...] = ()
    """Refusals about whoever asks, for requests of other mechanisms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """A mechanism's document, before a domain gives it words."""

    name: str
    text: str
    roles: tuple[str, ...]
    """The entities that a domain names, and other words in singular and plural."""
    lists: tuple[str, ...]
    """The lists of texts that a domain gives."""
    vary: Mapping[str, tuple[Any, ...]] = field(default_factory=dict[str, tuple[Any, ...]])
    """By name: the values of which a world has one."""
    needs_staff: bool = False

    def in_words(self, words: Mapping[str, str], stream: Stream) -> MechanismPart:
        """The mechanism in a domain's words, with its varied values drawn.

        Raises:
            BlueprintError: a role has no words, or the document is no part of a blueprint.
        """
        drawn = {name: str(stream.split(name).choice(values)) for name, values in self.vary.items()}
        try:
            text = Template(_with_articles(self.text, words)).substitute({**words, **drawn})
        except (KeyError, ValueError) as error:
            raise BlueprintError(f"mechanism {self.name}: {error} has no words; add the role to the domain") from None
        plain = {key: value for key, value in read_plain(text, source=self.name).items() if key not in _OWN}
        try:
            return _PART.validate_python(plain)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise BlueprintError(
                f"mechanism {self.name}: {place}: {plain_rule(first['msg'])}; correct the document"
            ) from None


def _with_articles(text: str, words: Mapping[str, str]) -> str:
    """The document with "an" before the words that need it."""

    def article(match: re.Match[str]) -> str:
        needs_n = has_initial_vowel_sound(words.get(match[3], ""))
        return f"{match[1]}n{match[2]}${match[3]}" if needs_n else match[0]

    return _ARTICLE.sub(article, text)


_ARTICLE = re.compile(r"\b([Aa])(\s+)\$(\w+_word)\b")
_PART = TypeAdapter(MechanismPart)
_OWN = ("mechanism", "roles", "lists", "vary", "needs_staff")


@cache
def mechanisms() -> Mapping[str, Mechanism]:
    """Every mechanism, by name."""
    found = sorted(files("palaestra.envs.synthesis").joinpath(FOLDER).iterdir(), key=lambda file: file.name)
    read = [
        _read(file.name.removesuffix(".yaml"), file.read_text("utf-8")) for file in found if file.name.endswith(".yaml")
    ]
    return {one.name: one for one in read}


def _read(name: str, text: str) -> Mechanism:
    head, _, body = text.partition("\n---\n")
    plain = read_plain(head, source=name)
    return Mechanism(
        name=name,
        text=body,
        roles=tuple(plain.get("roles", ())),
        lists=tuple(plain.get("lists", ())),
        vary={key: tuple(values) for key, values in plain.get("vary", {}).items()},
        needs_staff=bool(plain.get("needs_staff", False)),
    )
