"""Decides by rules whether a variant is right work after all, independent of the rubric under test.

An act is a call that changed rows or told somebody something. Two pieces of work are the same if they make the same
acts with the same effects in the same order, each after reading at least as much, and end in the same way with the same
answer. Work with harmful attempts (`attempts`) is never the same, although they change no row; other refused calls do
not matter. Consecutive acts of one tool may change places. The time of an act is not an effect, since every further
look-up moves the clock, nor is the id of a new row; days of waiting are. Knowing as much means having been shown the
same words and the same columns of rows. After the world has changed something by itself, a row counts as known only if
it was shown since.

"same work": it equals the oracle's. "listed": it equals the oracle's once values that the rubric lists as equally right
in the same column count as one, and lists of the answer whose order the rubric ignores are sorted. "alternative": it
equals one of the author's alternatives; only work that passes is compared with these.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from functools import lru_cache
from itertools import chain, groupby
from typing import Literal, TypeAlias, cast

from palaestra.digest import canonical, digest
from palaestra.envs.state import Schema
from palaestra.proof.attempts import has_harmful_attempt
from palaestra.proof.knowledge import words
from palaestra.proof.trial import ENDINGS, PlayedTurn, Trial, TrialOutcome
from palaestra.records import JsonObject, Message, RowChange, ShownColumns, ToolEvent
from palaestra.rubrics import WORLD

Rule: TypeAlias = Literal["same work", "listed", "alternative"]
RULES: dict[Rule, str] = {
    "same work": "the same acts, each knowing as much, no attempt that harms, and the same end and answer",
    "listed": "the same work but for values that the rubric lists as equally right, or lists in another order",
    "alternative": "the same as an alternative of the author's",
}
"""The rules and their meaning."""

_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+")

Fact: TypeAlias = tuple[str, str, str, int]
"""Table, id and column, and the number of changes that the world had made by itself."""
Knowledge: TypeAlias = str | Fact
"""A word, or a fact."""
Effect: TypeAlias = frozenset[tuple[str, str, frozenset[tuple[str, object]]]]
_NEW, _GONE = "(new)", "(gone)"


def right_after_all(trial: Trial, outcome: TrialOutcome) -> Rule | None:
    """The rule by which an outcome is the oracle's work or an alternative's; `None` if no rule applies."""
    if has_harmful_attempt(trial, outcome.turns):
        return None
    if (rule := _same_work(trial, outcome, trial.outcome)) is not None or not outcome.passed:
        return rule
    return "alternative" if any(_same_work(trial, outcome, other) for other in trial.alternatives) else None


def _same_work(trial: Trial, outcome: TrialOutcome, right: TrialOutcome) -> Rule | None:
    """The rule by which an outcome is the same work as a right one; `None` if no rule applies."""
    if (outcome.end, outcome.waited) != (right.end, right.waited):
        return None
    rule: Rule = "same work"
    if outcome.answer != right.answer:
        unordered = frozenset[str]().union(*(c.unordered for c in trial.instance.rubric.criteria))
        if _sort_unordered(outcome.answer, unordered) != _sort_unordered(right.answer, unordered):
            return None
        rule = "listed"
    done, meant = _effects(trial, outcome), _effects(trial, right)
    if [tool for tool, _ in done] != [tool for tool, _ in meant]:
        return None
    if _runs(done, {}) != _runs(meant, {}):
        equal, rule = _equally_right(trial), "listed"
        if not equal or _runs(done, equal) != _runs(meant, equal):
            return None
    wanted = _oracle_knowledge(trial) if right is trial.outcome else _knowledge(trial, right)
    knew = zip(_knowledge(trial, outcome), wanted, strict=True)
    return rule if all(mine >= theirs for mine, theirs in knew) else None


def _sort_unordered(answer: JsonObject, names: frozenset[str]) -> dict[str, object]:
    """The answer with the lists of these names sorted."""
    return {
        name: sorted(map(canonical, value)) if name in names and isinstance(value, list) else value
        for name, value in answer.items()
    }


def _runs(
    acts: Sequence[tuple[str, Effect]], equal: Mapping[tuple[str, str], Sequence[frozenset[object]]]
) -> list[Counter[Effect]]:
    """The effects of each run of acts of one tool, in any order within it."""
    return [Counter(_canonical(effect, equal) for _, effect in run) for _, run in groupby(acts, key=lambda a: a[0])]


def _canonical(effect: Effect, equal: Mapping[tuple[str, str], Sequence[frozenset[object]]]) -> Effect:
    if not equal:
        return effect
    return frozenset(
        (table, key, frozenset((name, _set_of(value, equal.get((table, name), ()))) for name, value in values))
        for table, key, values in effect
    )


def _set_of(value: object, sets: Sequence[frozenset[object]]) -> object:
    return next((listed for listed in sets if value in listed), value)


def _equally_right(trial: Trial) -> dict[tuple[str, str], list[frozenset[object]]]:
    """By table and column: the sets of values that the rubric lists as equally right."""
    found: dict[tuple[str, str], list[frozenset[object]]] = {}
    for criterion in trial.instance.rubric.criteria:
        for allowance in criterion.allows:
            for name, wanted in allowance.values:
                if isinstance(wanted, frozenset):
                    found.setdefault((allowance.table, name), []).append(cast("frozenset[object]", wanted))
    return found


def _effects(trial: Trial, outcome: TrialOutcome) -> list[tuple[str, Effect]]:
    """The acts of an episode, in order: the tool, and what it did."""
    return [act for turn in outcome.turns for act in _acts(turn, trial.toolbox.prose_tool)]


def _acts(turn: PlayedTurn, talk: str | None) -> Iterator[tuple[str, Effect]]:
    first = 0
    for event in turn.events:
        changes = turn.changes[first : first + event.written]
        first += event.written
        if changes or (event.executed and event.tool == talk):
            yield event.tool, frozenset(map(_effect_of, changes))


@lru_cache(maxsize=2)
def _oracle_knowledge(trial: Trial) -> list[frozenset[Knowledge]]:
    return _knowledge(trial, trial.outcome)


def _knowledge(trial: Trial, outcome: TrialOutcome) -> list[frozenset[Knowledge]]:
    """The knowledge at each act and at the end: words and facts of the request and of every earlier turn's answers.

    A fact is a column of a row, since the same words may occur in answers about other rows. A look-up by a guessed id
    adds no knowledge. A computed answer, which shows no record, counts only together with its question.
    """
    start = trial.instance.start.isoformat()
    known = frozenset[Knowledge]().union(*(_message_knowledge(message, start) for message in trial.instance.messages))
    found, talk = list[frozenset[Knowledge]](), trial.toolbox.prose_tool
    happened = 0
    for turn in outcome.turns:
        found += [known for _ in _acts(turn, talk)]
        blind = {event.call_id for event in turn.events if not known.issuperset(event.named)}
        learned: list[frozenset[Knowledge]] = [
            _message_knowledge(m, start) for m in turn.observation if m.get("tool_call_id") not in blind
        ]
        for event in turn.events:
            happened += event.tool == WORLD
            if event.call_id not in blind:
                learned.append(_facts(event.shown, event.columns, happened, trial.env.world.schema))
                if _computes(event, talk) and event.tool not in trial.moves:
                    learned.append(frozenset({digest((event.tool, event.arguments))}))
        known = known.union(*learned)
    return [*found, known]


@lru_cache(maxsize=2048)
def _facts(
    shown: tuple[tuple[str, str], ...], columns: tuple[ShownColumns, ...], happened: int, schema: Schema
) -> frozenset[Fact]:
    """The columns of rows that an answer shows, each with the number of changes that the world had made by then."""
    kinds = {info.name: info.kind for info in schema}
    whole = ((table, key, [column.name for column in fields(kinds[table])]) for table, key in shown)
    parts = ((part.table, key, part.columns) for part in columns for key in part.keys)
    return frozenset((table, key, name, happened) for table, key, names in chain(whole, parts) for name in names)


def _effect_of(change: RowChange) -> tuple[str, str, frozenset[tuple[str, object]]]:
    return change.table, _NEW if change.before is None else change.key, frozenset(_column_effects(change))


def _column_effects(change: RowChange) -> Iterator[tuple[str, object]]:
    """The effects of a write on its row by column: the difference of a number, and the new value of anything else."""
    if change.after is None:
        yield "", _GONE
    elif change.before is None:
        yield from ((name, value) for name, value in _timeless(change) if name != "id")
    else:
        for name, value in _timeless(change):
            former = getattr(change.before, name)
            if value != former:
                counts = type(value) is int and type(former) is int
                yield name, (cast("int", value) - former if counts else value)


def _computes(event: ToolEvent, talk: str | None) -> bool:
    return (
        event.executed and event.tool not in {talk, *ENDINGS} and not (event.written or event.shown or event.mentioned)
    )


def _message_knowledge(message: Message, start: str) -> frozenset[Knowledge]:
    """The words of a message; a person's message also counts as a whole, since its sender matters."""
    content = message["content"]
    said = _words(content, start)
    said = said.union(message.get("images", ()))
    return said | {content} if message["role"] == "user" else said


@lru_cache(maxsize=2048)
def _words(content: str, start: str) -> frozenset[str]:
    """The words of a text, with times only from before the episode: later times depend on the number of calls."""
    times = frozenset(time for time in _TIME.findall(content) if time < start)
    return times | words([{"role": "tool", "content": _TIME.sub(" ", content)}])


def net(changes: Sequence[RowChange]) -> Effect:
    """A difference without times: which columns of which rows differ."""
    return frozenset((change.table, change.key, frozenset(_timeless(change))) for change in changes)


def _timeless(change: RowChange) -> Iterator[tuple[str, object]]:
    """The columns of a row after a change, and their values, except times."""
    if change.after is not None:
        for column in fields(change.after):
            value = getattr(change.after, column.name)
            if not isinstance(value, datetime):
                yield column.name, value
