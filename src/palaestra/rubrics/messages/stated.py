"""What a message must state: an amount or a day if one is owed, otherwise at least something about the case."""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from typing import TypeAlias

from palaestra.records import Layer, Verdict
from palaestra.rubrics.criterion import MET, UNMET, Criterion
from palaestra.rubrics.evidence import Evidence
from palaestra.rubrics.messages.figures import figures_in

Amounts: TypeAlias = int | frozenset[int] | tuple[int, ...]
"""Amounts in cents: an int is one amount, a set any one of them, a tuple all of them or their sum."""

_WORD = re.compile(r"[^\W\d_]{2,}")
_EMPTY = frozenset(
    re.findall(
        r"\w+",
        """
        about afraid all already am an and answer answered apologies apologise apologize are as ask asked assist
        at be been being best but by can cannot care carried case cheers closed complete completed could
        customer day deal dealt dear did do does done everything fine for from fulfil fulfilled good had handle
        handled has have he hello help helped here hey hi if in info information is issue it its just kind madam
        mail matter may me message might morning much must my next no not now of ok okay on or our please
        problem processed query question regards regret replied reply request requested resolved service shall
        she should sincerely sir so solved something soon sorry sorted support taken team thank thanks that the
        them then there these they thing things this those ticket to today tomorrow unfortunately us very wanted
        was we week welcome well were will wish wished with would write wrote yes you your yours
        """,
    )
)
"""Words that say nothing about a case. A message with only such words tells nothing."""
_DECIMAL = re.compile(r"\d[\d.,]*[.,]\d\d")


def amounts_in(text: str) -> frozenset[int]:
    """The amounts of money that a text states, in cents, in any usual format.

    "EUR 12.30", "12,30 €", "€12.30", "12.3 euros", "12 euros and 30 cents" and "1230 cents" are one amount. A number
    with two decimals counts without its currency.
    """
    return frozenset(_amounts(text))


def _amounts(text: str) -> Iterator[int]:
    for figure in figures_in(text):
        if figure.kind == "money" and isinstance(figure.value, int):
            yield figure.value
        elif figure.kind == "number" and _DECIMAL.fullmatch(figure.text):
            yield int(re.sub(r"\D", "", figure.text))


def describe_amounts(cents: Amounts, write: Callable[[int], str]) -> str:
    """The amounts in words; `write` writes one of them."""
    options = sorted(map(sorted, _options(cents)), key=lambda option: (-len(option), option))
    return " or ".join(" and ".join(map(write, option)) for option in options)


def _options(cents: Amounts) -> frozenset[frozenset[int]]:
    """The sets of amounts; a message must state one of the sets."""
    if isinstance(cents, int):
        return frozenset({frozenset({cents})})
    if isinstance(cents, tuple):
        return frozenset({frozenset(cents), frozenset({sum(cents)})})
    return frozenset(frozenset({value}) for value in cents)


def expect_stated_amount(
    tool: str,
    cents: Amounts,
    *,
    id: str,
    text: str | None = None,
    points: int | None = None,
    layer: Layer = "task",
    after: Sequence[str] = (),
) -> Criterion:
    """Expect a successful call of `tool` whose text states an amount; its other words are free.

    Args:
        tool: The tool that sends the message, such as "reply".
        cents: The amount; for a set any one of them, for a tuple all in one message or their sum.
        id: The criterion's id.
        text: The sentence that people read.
        points: The points that it wins.
        layer: The layer of its points.
        after: Criteria that must have been met before.
    """
    options = _options(cents)

    def check(evidence: Evidence) -> Verdict:
        event = evidence.event
        texts = [value for value in event.arguments.values() if isinstance(value, str)]
        return (
            MET if event.executed and any(option <= amounts_in(text) for text in texts for option in options) else UNMET
        )

    return Criterion(
        id=id,
        text=text or f"Stated {describe_amounts(cents, lambda value: f'{value} cents')} in a message.",
        check=check,
        points=points,
        layer=layer,
        after=tuple(after),
        about="event",
        tools=frozenset({tool}),
    )


def tells_something(text: str) -> bool:
    """Whether a text has a figure, or a word that says something about a case: not "ok" or "All done as you asked"."""
    return bool(figures_in(text)) or any(word not in _EMPTY for word in _WORD.findall(text.casefold()))


def expect_told(
    tool: str,
    *,
    id: str,
    day: date | None = None,
    text: str | None = None,
    points: int | None = None,
    layer: Layer = "task",
    after: Sequence[str] = (),
) -> Criterion:
    """Expect a successful call of `tool` whose text says something about the case; its words are free.

    Args:
        tool: The tool that sends the message, such as "reply".
        id: The criterion's id.
        day: A day that the text must state, with or without its year; `None` for no day.
        text: The sentence that people read.
        points: The points that it wins.
        layer: The layer of its points.
        after: Criteria that must have been met before.
    """

    def states(said: str) -> bool:
        if day is None:
            return tells_something(said)
        dates = {figure.value for figure in figures_in(said) if figure.kind == "date"}
        return not dates.isdisjoint({day.isoformat(), f"{day:%m-%d}"})

    def check(evidence: Evidence) -> Verdict:
        event = evidence.event
        texts = [value for value in event.arguments.values() if isinstance(value, str)]
        return MET if event.executed and any(map(states, texts)) else UNMET

    return Criterion(
        id=id,
        text=text or "Told something of the case in a message.",
        check=check,
        points=points,
        layer=layer,
        after=tuple(after),
        about="event",
        tools=frozenset({tool}),
        names=frozenset() if day is None else frozenset({day.isoformat()}),
    )
