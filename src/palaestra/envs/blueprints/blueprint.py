"""A blueprint: everything about a world as one typed document, which `compile_blueprint` turns into a `World`.

Texts in braces are expressions (`"Please extend {loan.id}."`). Conditions and values are expressions as well; see
`palaestra.envs.blueprints.expressions` for the language. A blueprint is a record of plain values: it pickles, compares
and has a digest.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal, TypeAlias

from pydantic import ConfigDict

from palaestra.digest import digest
from palaestra.envs.blueprints.tool_style import PLAIN, ToolStyle
from palaestra.envs.task import Split

Scalar: TypeAlias = int | bool | str
"""A value as a document writes it."""
ReadTool: TypeAlias = str
"""`get`, `search`, or `list` and a reference field, as in `list member`."""
_RULE = re.compile(r"\brules\.([a-z][a-z0-9_]*)")
_STRICT = ConfigDict(extra="forbid", strict=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSpec:
    """A field of an entity: its type, and how the population draws it."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    type: str
    """`text`, `integer`, `money` (cents), `date`, `flag`, `choice a|b|c`, `ref ENTITY`, `name`, `email`; a `?` behind
    it means that the value may be missing."""
    between: tuple[int, int] | None = None
    """The least and the highest number or amount."""
    step: int = 1
    """Numbers are multiples of it, counted from the least."""
    days: tuple[int, int] | None = None
    """The first and the last date, in days from the day on which episodes begin."""
    percent: int | None = None
    """How often a flag is true, or a field that may be missing has a value."""
    weights: tuple[int, ...] = ()
    """How often each choice is drawn; empty: equally often."""
    one_of: tuple[str, ...] = ()
    """The texts to draw from; with an entity of as many rows, each is taken in turn."""
    value: Scalar | None = None
    """A value, or an expression over the row's earlier fields, the rows that it names, rules and today."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntitySpec:
    """A kind of record: its fields, how many there are, and by which tools they are read."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    description: str
    """What one is, such as "What a member has borrowed."."""
    plural: str
    """The table's name, such as `loans`."""
    prefix: str
    """What ids begin with, such as `LN-`."""
    fields: Mapping[str, FieldSpec]
    count: int | None = None
    """How many rows there are."""
    per: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """By a reference field: the fewest and the most rows for each row that it names."""
    first: int = 1001
    """The number of the first id."""
    tools: tuple[ReadTool, ...] = ("get",)
    """The tools that read it; none is needed where others name its rows or an action makes them."""
    filters: tuple[str, ...] = ()
    """The fields by which `search` narrows its list."""
    summary: tuple[str, ...] = ()
    """The fields that `search` lists beside the id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSpec:
    """A number that the handbook states and a handbook variant may change."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    type: Literal["integer", "money"] = "integer"
    value: int
    instead: tuple[int, ...] = ()
    """The values that handbook variants have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionSpec:
    """A section of the handbook."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    title: str
    text: str
    """In braces: rules, as in `{rules.loan_days}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterSpec:
    """An argument of an action, or a value that a request states."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    type: str
    """As a field's, but for `name` and `email`."""
    description: str = ""
    """What the agent reads about it."""
    between: tuple[int, int] | None = None
    """Its bounds; for a request, what is drawn from."""
    step: int = 1
    days: tuple[int, int] | None = None
    """For a request's date: days from today that are drawn from."""
    one_of: tuple[str, ...] = ()
    """For a request's text: what is drawn from."""
    where: str = ""
    """For a request's reference: which rows are drawn from, under the parameter's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A condition without which an action is refused."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    when: str
    """What must hold."""
    code: str
    """The refusal's code, such as `wrong_status`."""
    says: str
    """What the agent reads where it does not hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Creation:
    """A row that is made."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    entity: str
    fields: Mapping[str, Scalar | None]
    """A value or an expression for each field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionSpec:
    """A tool that writes."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    description: str
    """What the agent reads."""
    about: str
    """The entity of the row that it changes; its argument is the entity's name and `_id`."""
    takes: Mapping[str, ParameterSpec] = field(default_factory=dict[str, ParameterSpec])
    requires: tuple[Requirement, ...] = ()
    sets: Mapping[str, Scalar | None] = field(default_factory=dict[str, Scalar | None])
    """By field, such as `loan.due`: a value or an expression. All are worked out before any is set."""
    creates: tuple[Creation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """A change of the world that makes a refusal apply: a field that is set, or a row that is added."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    set: str = ""
    """Such as `loan.due`, or a longer path, `loan.copy.status`."""
    to: Scalar | None = None
    """A value or an expression."""
    insert: str = ""
    """The entity of a row that is added, with the id of a gap in its table."""
    fields: Mapping[str, Scalar | None] = field(default_factory=dict[str, Scalar | None])
    """A value or an expression for each field that matters; the others are drawn as the rows of the population are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalSpec:
    """When a request is declined, or handed to another team."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    section: str
    """The section of the handbook that says so."""
    when: str
    shows: str
    """The row that shows it."""
    plant: tuple[Plant, ...]
    """What makes it apply to a request that would be granted otherwise: its refusal twin."""
    tells: str
    """What who asked is told; `shown` is the record that shows it, as in `{shown.id}`."""
    team: str = ""
    """Who takes over; empty: the request is declined."""
    priority: Literal["low", "normal", "high"] = "normal"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkStep:
    """An action with its arguments."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    action: str
    arguments: Mapping[str, Scalar | None] = field(default_factory=dict[str, Scalar | None])
    """Values or expressions, by the action's entity and parameters; the entity may be left out where the request is
    about a row of it."""
    when: str = ""
    """A condition under which the step is taken; empty: always."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSpec:
    """What the request leaves open, and its author answers when they are asked."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    topic: str
    """What is asked about, in one word."""
    words: tuple[str, ...]
    """Words by which a question about it is recognised."""
    asks: str
    """A question that the solution asks."""
    answers: str
    """What the person says."""
    goal: str
    """What they want, for who words their answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSpec:
    """A family of tasks: what somebody asks for, when it is refused, and what is done otherwise."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    level: Literal[1, 2, 3]
    about: str
    """The entity of the row that is asked about; its name stands for the row."""
    where: str = "True"
    """Which rows can be asked about."""
    asked_by: str = ""
    """Whoever asks, as an expression; empty: the row's reference to a person, or the row itself."""
    states: Mapping[str, ParameterSpec] = field(default_factory=dict[str, ParameterSpec])
    """Values that the request states, drawn for each task."""
    let: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names for values, in order."""
    subject: tuple[str, ...]
    says: tuple[str, ...]
    """Ways to word it."""
    says_heldout: tuple[str, ...] = ()
    """Ways to word it that the split "heldout" alone has."""
    question: QuestionSpec | None = None
    refusals: tuple[RefusalSpec, ...]
    """In the order in which they are checked; the first that applies decides."""
    sections: tuple[str, ...] = ()
    """Further sections that decide how it is granted."""
    work: tuple[WorkStep, ...] = ()
    reads: tuple[str, ...] = ()
    """Expressions whose values must be known besides those that conditions and work use."""
    tells: str
    """What who asked is told when it is granted."""
    amount: str = ""
    """An amount that the reply must state."""


@dataclass(frozen=True, kw_only=True)
class Blueprint:
    """A world as a document."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    id: str
    """The world's id, such as "town-library"."""
    title: str
    agent: str
    """Whom the agent is, such as "the lending desk of a town library"."""
    weekends: bool = True
    """Whether episodes begin on Saturdays and Sundays too."""
    people: str
    """The entity of those who ask; it has the fields `name` and `email`."""
    team: str
    """The desk's team."""
    teams: tuple[str, ...]
    """All teams."""
    case: str = "case"
    """What a request is called, such as `ticket`."""
    case_prefix: str = "CASE-"
    entities: Mapping[str, EntitySpec]
    rules: Mapping[str, RuleSpec]
    handbook: Mapping[str, SectionSpec]
    actions: Mapping[str, ActionSpec]
    requests: Mapping[str, RequestSpec]
    incoming: tuple[str, ...] = ("A question", "Thank you")
    """Subjects of further requests that come in while the agent works, for noise."""
    style: ToolStyle | None = None
    """How its tools are written; `None`: in the plain style."""
    instances: Mapping[Split, int] = field(default_factory=lambda: {"train": 3, "dev": 1, "heldout": 1})
    """How many tasks of each family a split lists."""

    @property
    def tool_style(self) -> ToolStyle:
        """How its tools are written."""
        return self.style or PLAIN

    def id_prefix(self, entity: str) -> str:
        """What the ids of an entity begin with, in the style of the tools; those of cases under the name of a case."""
        prefix = self.case_prefix if entity == self.case else self.entities[entity].prefix
        return self.tool_style.id_prefix(prefix)

    @cached_property
    def digest(self) -> str:
        """What tells it from every other blueprint."""
        return digest(self)


def rules_in(parts: Sequence[object]) -> frozenset[str]:
    """The rules that the texts and expressions of some parts of a blueprint name."""
    return frozenset(_RULE.findall(repr(parts)))
