"""How the tools of a world are written: names, arguments, ids, dates, amounts, pages, descriptions.

A style changes what an agent reads and calls, and nothing of what tools do. The tools that every world has alike keep
their form: `reply`, `finish`, `give_up` and `calculate`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import date, datetime
from typing import ClassVar, Literal, TypeAlias, get_args, get_type_hints

from pydantic import ConfigDict

from palaestra.errors import BlueprintError

Case: TypeAlias = Literal["snake", "camel", "pascal"]
Prefix: TypeAlias = Literal["", "desk", "crm", "svc"]
_PARTICLES = frozenset({"back", "off", "out"})
"""Words that belong to the verb before them, as in `put_back_loan`."""
_VERBS = {
    "get": {},
    "show": {"get": "show", "read": "show", "search": "find"},
    "fetch": {"get": "fetch", "read": "fetch", "search": "query"},
    "retrieve": {"get": "retrieve", "read": "consult", "search": "list"},
}
_DATES = {"iso": "%Y-%m-%d", "day_first": "%d.%m.%Y", "slashes": "%d/%m/%Y"}
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ISO_DAY = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
FIXED = frozenset({"reply", "finish", "give_up", "calculate"})
"""The tools that no style changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStyle:
    """How the tools of a world are written. The defaults are those of a world without a style."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=False)
    case: Case = "snake"
    """`get_loan`, `getLoan` or `GetLoan`; arguments are `loan_id` or `loanId`."""
    order: Literal["verb_noun", "noun_verb"] = "verb_noun"
    """`get_loan` or `loan_get`."""
    verbs: Literal["get", "show", "fetch", "retrieve"] = "get"
    """What tools that read are called: `get_loan`, `search_loans`; `show_loan`, `find_loans`; and so on."""
    prefix: Prefix = ""
    """The system that a name begins with, as in `crm_get_loan`."""
    arguments: Literal["id", "noun", "ref"] = "id"
    """How an argument that is an id is called: `loan_id`, `loan` or `loan_ref`."""
    ids: Literal["hyphen", "joined", "underscore"] = "hyphen"
    """`LN-1001`, `LN1001` or `LN_1001`."""
    dates: Literal["iso", "day_first", "slashes", "month_name"] = "iso"
    """How tools show and take days: `2026-05-31`, `31.05.2026`, `31/05/2026` or `31 May 2026`."""
    amounts: Literal["cents", "decimal", "currency"] = "cents"
    """How tools show amounts: `1250`, `"12.50"` or `"EUR 12.50"`. They take cents."""
    descriptions: Literal["plain", "terse", "annotated"] = "plain"
    """Descriptions as they are, cut to what is needed, or with what a tool changes and what it requires."""

    def name(self, name: str) -> str:
        """What a tool of that name is called."""
        if name in FIXED:
            return name
        first, *noun = name.split("_")
        verb = [_VERBS[self.verbs].get(first, first)]
        if noun and noun[0] in _PARTICLES:
            verb.append(noun.pop(0))
        words = [*verb, *noun] if self.order == "verb_noun" else [*noun, *verb]
        return _join([*([self.prefix] if self.prefix else []), *words], self.case)

    def argument(self, name: str, *, is_id: bool) -> str:
        """What an argument of that name is called.

        Args:
            name: Its name in a world without a style.
            is_id: Whether it is the id of a record.
        """
        if is_id and name.endswith("_id") and self.arguments != "id":
            name = name.removesuffix("_id") + ("_ref" if self.arguments == "ref" else "")
        return _join(name.split("_"), "snake" if self.case == "snake" else "camel")

    def id_prefix(self, prefix: str) -> str:
        """What ids begin with, for a prefix such as `LN-`."""
        return prefix.replace("-", {"hyphen": "-", "joined": "", "underscore": "_"}[self.ids])

    def format_day(self, day: date) -> str:
        """A day as tools show it."""
        if self.dates == "month_name":
            return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
        return day.strftime(_DATES[self.dates])

    def parse_day(self, text: str) -> date:
        """The day that an argument names.

        Raises:
            ValueError: it is none, or written in another way.
        """
        if self.dates != "month_name":
            found = datetime.strptime(text, _DATES[self.dates]).date()  # noqa: DTZ007  a day has no zone
        else:
            day, month, year = text.split()
            found = date(int(year), _MONTHS.index(month) + 1, int(day))
        if self.format_day(found) != text:
            raise ValueError(f"{text!r} is written in another way")
        return found

    def format_amount(self, cents: int) -> str | int:
        """An amount as tools show it."""
        if self.amounts == "cents":
            return cents
        text = f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02d}"
        return text if self.amounts == "decimal" else f"EUR {text}"

    def restate_days(self, text: str) -> str:
        """A text with its days written as tools write them."""
        return _ISO_DAY.sub(lambda match: self.format_day(date.fromisoformat(match[0])), text)

    def notes(self) -> str:
        """What the system message says about the notation of tools."""
        shown = {"cents": "", "decimal": "12.50", "currency": "EUR 12.50"}[self.amounts]
        said = f"Tools show amounts as {shown} and take them in cents." if shown else "Amounts in tools are in cents."
        day = f" Days in tools are written as {self.format_day(date(2026, 5, 31))}." if self.dates != "iso" else ""
        return f"{said}{day}"


PLAIN = ToolStyle()
"""The style of a world that states none."""


def style_tool_names(style: ToolStyle, names: Iterable[str]) -> dict[str, str]:
    """By name in a world without a style: what the tool is called.

    Raises:
        BlueprintError: two tools have one name.
    """
    found: dict[str, str] = {}
    taken: dict[str, str] = {}
    for name in names:
        styled = style.name(name)
        if styled in taken:
            raise BlueprintError(f"style: {name} and {taken[styled]} are both called {styled}; rename the action")
        found[name] = styled
        taken[styled] = name
    return found


def style_options() -> dict[str, tuple[str, ...]]:
    """By part of a style: everything that it can be."""
    hints = get_type_hints(ToolStyle)
    return {part.name: get_args(hints[part.name]) for part in fields(ToolStyle)}


def _join(words: list[str], case: Case) -> str:
    if case == "snake":
        return "_".join(words)
    joined = "".join(word[:1].upper() + word[1:] for word in words)
    return joined if case == "pascal" else joined[:1].lower() + joined[1:]
