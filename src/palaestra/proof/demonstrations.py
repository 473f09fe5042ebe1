"""Compares demonstrations: equal observations must lead to the same call, and listed values to a shown fact.

Ids and names are numbered by first appearance, so that only their roles count. The date in the briefing counts from the
second call on. Prose is not part of a call.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from palaestra.digest import digest
from palaestra.proof.masking import Masker
from palaestra.proof.trial import Trial
from palaestra.records import Json, ToolCall

MOST_LETTERS = 30
"""The longest text that counts as a feature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedCall:
    """One call of a demonstration, and everything observed before it."""

    history: str
    """A digest of the request and of all calls and answers before."""
    call: str
    """The call without prose, with ids and names numbered by first appearance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenValue:
    """A value of a fixed list that no word has shown: a constant of the family, or implied by wording and facts."""

    name: str
    """The tool and the argument."""
    number: int
    """The number of earlier calls of the tool."""
    value: str
    request: str
    """A digest of the request with masked ids and names."""
    features: frozenset[str]
    """What answers had shown: columns with short values, and which numbers are zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two demonstrations with equal observations and different next calls."""

    task: str
    other: str
    call: str
    other_call: str


def decisions_of(trial: Trial) -> Iterator[ObservedCall]:
    """The calls of a demonstration, each with everything observed before it."""
    masker = Masker(trial)
    asked = [message for message in trial.instance.messages if message["role"] != "system"]
    history: list[object] = [masker.mask_messages(asked)]
    for number, step in enumerate(trial.steps):
        call = f"{step.call.tool}{masker.mask_value(_without_prose(trial, step.call))}"
        yield ObservedCall(history=digest(history), call=call)
        if number == 0:
            history.append([message["content"] for message in trial.instance.messages if message["role"] == "system"])
        history += [call, masker.mask_messages(step.observation)]


def find_conflicts(demonstrations: Iterable[tuple[str, Sequence[ObservedCall]]]) -> list[Conflict]:
    """Find demonstrations with equal observations and different next calls; later ones are compared with the first.

    Args:
        demonstrations: Each task's id and its decisions.
    """
    first: dict[str, tuple[str, str]] = {}
    found: list[Conflict] = []
    for task, decisions in demonstrations:
        for decision in decisions:
            other, call = first.setdefault(decision.history, (task, decision.call))
            if call != decision.call:
                found.append(Conflict(task=task, other=other, call=decision.call, other_call=call))
    return found


def shared_histories(demonstrations: Iterable[tuple[str, Sequence[ObservedCall]]]) -> int:
    """The number of decisions that were compared with another demonstration with equal observations."""
    seen: set[str] = set()
    count = 0
    for _, decisions in demonstrations:
        for decision in decisions:
            count += decision.history in seen
            seen.add(decision.history)
    return count


def undecided_values(values: Iterable[OpenValue]) -> list[str]:
    """Listed values that differ between a family's tasks, though neither wording nor a shown fact decides them."""
    groups: dict[tuple[str, int, str], dict[str, list[frozenset[str]]]] = defaultdict(lambda: defaultdict(list))
    for open_value in values:
        groups[open_value.name, open_value.number, open_value.request][open_value.value].append(open_value.features)
    found: list[str] = []
    for (name, _, _), by_value in sorted(groups.items()):
        for value, mine in sorted(by_value.items()):
            for other, theirs in sorted(by_value.items()):
                if value < other and not _is_separating(mine, theirs):
                    found.append(f"{name} is {value!r} or {other!r}, and nothing shown before tells which")
    return found


def features_of(facts: Mapping[str, Mapping[str, Json]]) -> frozenset[str]:
    """Facts about records in a form that can be compared between tasks."""
    return frozenset(
        feature for row in facts.values() for name, value in row.items() for feature in _feature(name, value)
    )


def _feature(name: str, value: Json) -> Iterator[str]:
    if isinstance(value, bool) or value is None or (isinstance(value, str) and len(value) <= MOST_LETTERS):
        yield f"{name}={value}"
    elif isinstance(value, int | float):
        yield f"{name}{'>' if value > 0 else '<='}0"


def _is_separating(mine: Sequence[frozenset[str]], theirs: Sequence[frozenset[str]]) -> bool:
    """Whether some feature is in all of one and in none of the other."""
    return _always_and_never(mine, theirs) or _always_and_never(theirs, mine)


def _always_and_never(these: Sequence[frozenset[str]], those: Sequence[frozenset[str]]) -> bool:
    first, *rest = these
    return bool(first.intersection(*rest).difference(*those))


def _without_prose(trial: Trial, call: ToolCall) -> dict[str, Json]:
    """The arguments of a call, except those that people read."""
    tool = trial.own[call.tool]
    return {name: value for name, value in call.arguments.items() if name not in tool.prose}
