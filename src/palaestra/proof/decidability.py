"""Checks that a demonstration uses only what it has read: each value that it writes, and each record that it chooses.

A value must follow from the request or from an answer of an earlier turn. A choice among records that one answer showed
must follow from what was shown about them. If a message of the user names what distinguishes the chosen record, such as
its product, that message must have come and that fact must have been shown. A look-up that follows the order of a
listing chooses nothing.

Text that the agent composes itself (`AuthoredText`), such as code, need not have been shown, except the ids, amounts
and days in it. In return, one of the author's alternatives must solve the task with another text, so that no particular
wording must be known.

Not covered: whether the shown facts suffice for the decision, which `demonstrations` tests across tasks, and the
content of messages apart from numbers and ids. The generic surface is not judged: its calls are derived from these.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from palaestra.digest import digest
from palaestra.envs.state import Overlay, Schema
from palaestra.envs.user import stated_amounts
from palaestra.proof.arguments import ArgumentPlace, choices, places
from palaestra.proof.demonstrations import ObservedCall, OpenValue, decisions_of, features_of
from palaestra.proof.masking import Masker
from palaestra.proof.notations import iso_days
from palaestra.proof.transcript import Transcript
from palaestra.proof.trial import Trial
from palaestra.proof.variants import format_call
from palaestra.records import Message, Row, ToolCall

Basis: TypeAlias = Literal["request", "answer", "calculated", "authored", "open"]
"""The source of a value; "authored": the agent composes it; "open": its words were not shown, so that other tasks of
the family must decide it."""
CALCULATE = "calculate"
"""The kit's tool whose answers count as calculated."""
SHORTEST = 4
"""Minimum letters of a text that distinguishes a record in a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidabilityFinding:
    """A value or a choice in a demonstration that nothing shown before supports."""

    kind: Literal["value", "choice", "wording"]
    what: str
    """What is missing, in a sentence with the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decidability:
    """The checks of one demonstration and their findings."""

    values: Counter[Basis]
    """The judged values by source."""
    choices: int
    """Pairs of a chosen record and another one that the same answer showed."""
    by_request: int
    """The choices in which the user names what distinguishes the two."""
    undecided: tuple[DecidabilityFinding, ...]
    open: tuple[OpenValue, ...]
    """Values of a fixed list that no word shows, to compare with the family's other tasks."""
    decisions: tuple[ObservedCall, ...]
    """Each call with everything observed before it, to compare with other demonstrations."""


def judge_decidability(trial: Trial) -> Decidability:
    """Judge the oracle's run of a task."""
    judge = _Judge(trial)
    for step in trial.steps:
        if step.call.tool in trial.own:
            judge.judge(step.call)
        judge.read(step.call, step.observation)
    return Decidability(
        values=judge.values,
        choices=judge.choices,
        by_request=judge.by_request,
        undecided=tuple(judge.undecided),
        open=tuple(judge.open),
        decisions=tuple(decisions_of(trial)) if all(c.tool in trial.own for c in trial.calls) else (),
    )


class _Judge:
    """Follows a demonstration call by call."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        is_id = trial.directory.stands
        self._request, self._shown, self._calculated = Transcript(is_id), Transcript(is_id), Transcript(is_id)
        self._request.read(trial.instance.messages)
        self._said = _texts(trial.instance.messages)
        self._ever_said = [*self._said, *(text for step in trial.steps for text in _texts(step.observation))]
        self._asked = [message for message in trial.instance.messages if message["role"] == "user"]
        self._named: dict[str, set[str]] = {}
        """By tool: the ids that its calls have named."""
        self._made: Counter[str] = Counter()
        self.values: Counter[Basis] = Counter()
        self.choices = self.by_request = 0
        self.undecided: list[DecidabilityFinding] = []
        self.open: list[OpenValue] = []

    def read(self, call: ToolCall, messages: Sequence[Message]) -> None:
        """Record a call and its answers."""
        said = [message for message in messages if message["role"] == "user"]
        answers = [message for message in messages if message["role"] != "user"]
        self._request.read(said)
        self._said += _texts(said)
        self._asked += said
        (self._calculated if call.tool == CALCULATE else self._shown).read(answers)
        self._made[call.tool] += 1
        named = self._trial.own[call.tool].find_ids(call.arguments) if call.tool in self._trial.own else ()
        self._named.setdefault(call.tool, set()).update(named)

    def judge(self, call: ToolCall) -> None:
        """Judge every value of a call, and every record that it chooses."""
        for place in places(call, self._trial.own[call.tool], self._trial.directory):
            if place.value is not None and (place.prose or call.tool != self._trial.own.prose_tool):
                self._judge_value(call, place)
            if place.table is not None and isinstance(place.value, str):
                self._judge_choice(call, place.value)

    def _judge_value(self, call: ToolCall, place: ArgumentPlace) -> None:
        missing = self._missing(place)
        listed = isinstance(place.value, bool) or place.value in choices(place.schema)
        if missing and listed and place.table is None:
            self.values["open"] += 1
            self.open.append(
                OpenValue(
                    name=f"{call.tool}.{place.name}",
                    number=self._made[call.tool],
                    value=str(place.value),
                    request=digest(Masker(self._trial).mask_messages(self._asked)),
                    features=features_of(self._shown.facts),
                )
            )
        elif missing:
            what = f"{place.name}={missing} was not shown before {format_call(call)}"
            self.undecided.append(DecidabilityFinding(kind="value", what=what))
        elif place.authored:
            self.values["authored"] += 1
            if not self._has_other_wording(call, place.name):
                what = f"no alternative writes another {place.name} than {format_call(call)}"
                self.undecided.append(DecidabilityFinding(kind="wording", what=what))
        else:
            self.values[self._basis(place)] += 1

    def _has_other_wording(self, call: ToolCall, name: str) -> bool:
        """Whether one of the author's alternatives writes another text in place of this call's."""
        written = call.arguments[name]
        found = (
            [other.arguments.get(name) for other in calls if other.tool == call.tool]
            for calls in self._trial.instance.alternatives
        )
        return any(texts and written not in texts for texts in found)

    def _missing(self, place: ArgumentPlace) -> str:
        """The part of a value that nothing has shown; empty if all of it was shown."""
        value = place.value
        if isinstance(value, bool):
            return str(value)
        if isinstance(value, int | float):
            free = value == 0 and place.money
            return "" if free or any(value in t.numbers for t in self._transcripts) else str(value)
        text = str(value)
        if place.prose:
            return self._missing_in(text)
        if place.authored:
            return self._missing_in_authored(text)
        return "" if any(t.has_words(text) for t in self._transcripts) or self._stands(text) else repr(text)

    def _missing_in(self, text: str) -> str:
        """The first number or id of a message that nothing has shown."""
        told = Transcript()
        told.read([{"role": "user", "content": text}])
        ids = self._trial.directory.find_ids(text)
        unknown = [key for key in ids if not any(t.has_words(key) for t in self._transcripts)]
        unknown += [f"{n:g}" for n in sorted(told.numbers) if n > len(_SMALL) and not self._knows(n)]
        return unknown[0] if unknown else ""

    def _missing_in_authored(self, text: str) -> str:
        """The first id, day or amount of an authored text that nothing has shown; the agent composes other numbers."""
        days = [*_DAY.findall(text), *iso_days(text)]
        known = [*self._trial.directory.find_ids(text), *days]
        unknown = [key for key in known if not any(t.has_words(key) for t in self._transcripts)]
        unknown += [f"{cents} cents" for cents in stated_amounts(text) if not self._knows(cents)]
        return unknown[0] if unknown else ""

    def _knows(self, number: float) -> bool:
        return any(number in t.numbers for t in self._transcripts)

    def _stands(self, text: str) -> bool:
        """Whether the request and the answers together showed the words of a text."""
        known = set[str]().union(*(t.words for t in self._transcripts))
        both = Transcript()
        both.words = known
        return both.has_words(text)

    @property
    def _transcripts(self) -> tuple[Transcript, Transcript, Transcript]:
        return self._request, self._shown, self._calculated

    def _basis(self, place: ArgumentPlace) -> Basis:
        value = place.value
        for basis, transcript in zip(_BASES, self._transcripts, strict=True):
            number = isinstance(value, int | float) and value in transcript.numbers
            if number or (not isinstance(value, int | float) and transcript.has_words(str(value))):
                return basis
        return "answer"

    def _judge_choice(self, call: ToolCall, key: str) -> None:
        looks = not self._trial.own[call.tool].writes
        meant = [listing for listing in self._request.listings if key in listing]
        for listing in meant or [listing for listing in self._shown.listings if key in listing]:
            table = self._trial.directory.table_of(key)
            others = [other for other in listing if other != key and self._trial.directory.table_of(other) == table]
            before = listing[: listing.index(key)]
            if looks and all(other in self._named.get(call.tool, ()) for other in others if other in before):
                continue
            for other in dict.fromkeys(others):
                self._judge_pair(call, key, other)

    def _judge_pair(self, call: ToolCall, key: str, other: str) -> None:
        self.choices += 1
        mine, theirs = self._shown.values_of(key), self._shown.values_of(other)
        told = list(self._distinguishing_texts(key, other))
        self.by_request += bool(told)
        if told and not any(self._is_known(holder, value) for holder, value in told):
            holder, value = told[0]
            what = f"the user means {value!r}, and nothing had told it of {holder} before {format_call(call)}"
            self.undecided.append(DecidabilityFinding(kind="choice", what=what))
        elif mine == theirs:
            what = f"nothing had told {key} from {other} before {format_call(call)}"
            self.undecided.append(DecidabilityFinding(kind="choice", what=what))

    def _distinguishing_texts(self, key: str, other: str) -> Iterator[tuple[str, str]]:
        """Texts of one record, or of those that it refers to, that the user names and that the other record lacks."""
        schema, state = self._trial.instance.world.schema, self._trial.instance.initial_state
        theirs = {value for _, value in _texts_of(schema, state, other)}
        for holder, value in _texts_of(schema, state, key):
            if value not in theirs and _is_in(value, self._ever_said):
                yield holder, value
        if _is_in(key, self._ever_said) and not _is_in(other, self._ever_said):
            yield key, key

    def _is_known(self, holder: str, value: str) -> bool:
        """Whether the user has named a value and an answer has shown it for the record; an id shows itself."""
        return _is_in(value, self._said) and (value == holder or value in self._shown.values_of(holder))


_BASES: tuple[Basis, Basis, Basis] = ("request", "answer", "calculated")
_DAY = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_SMALL = range(10)
"""Numbers in a message that may be figures of speech."""


def _is_in(value: str, texts: Sequence[str]) -> bool:
    return any(value.casefold() in text for text in texts)


def _texts(messages: Sequence[Message]) -> list[str]:
    return [message["content"].casefold() for message in messages if message["role"] == "user"]


def _texts_of(schema: Schema, state: Overlay, key: str, depth: int = 2) -> list[tuple[str, str]]:
    """The texts of a record and of the records that it refers to, each with the id of the record that holds it."""
    found: list[tuple[str, str]] = []
    for info in schema:
        row: Row | None = state.peek(info.kind, key)
        if row is None:
            continue
        for name, column in info.columns.items():
            value = getattr(row, name)
            if column.references is not None:
                if depth and value is not None:
                    found += _texts_of(schema, state, value, depth - 1)
            elif column.type is str and not column.choices and not column.identifies and name != "id" and value:
                found += [(key, value)] if len(value) >= SHORTEST else []
    return found
