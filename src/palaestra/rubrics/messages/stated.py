"""Amounts that a message must state: who is paid, credited or charged learns how much."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from palaestra.records import Layer, Verdict
from palaestra.rubrics.criterion import MET, UNMET, Criterion
from palaestra.rubrics.evidence import Evidence
from palaestra.rubrics.messages.figures import figures_in

Amounts: TypeAlias = int | frozenset[int] | tuple[int, ...]
"""Amounts in cents: one; of a set, any one of them; of a tuple, all of them or their sum."""

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
    """The sets of amounts of which a message has to state one."""
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
    """Expect that a call of `tool` went through whose text states an amount; its other words are free.

    Args:
        tool: The tool that sends the message, such as "reply".
        cents: The amount; of a set, any one will do; of a tuple, all in one message, or their sum.
        id: The criterion's id.
        text: The sentence that people read.
        points: What it wins.
        layer: Where it counts.
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
