"""A simulator with a known error rate: the true world's answers, of which a share is made wrong by seed.

It is the dial of the control: at rate 0 the simulation is the true world, and at rate p about p answers in a hundred
have one error of a kind that language models make. An error is an error of its rows, so that it keeps to what it has
said: a wrong value stays wrong, later writes build on it, a write that vanished never happened, an invented row stays.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import orjson

from palaestra.envs.episode import LiveEpisode
from palaestra.envs.instance import Instance
from palaestra.envs.simulation.answer_rows import AnswerRow, find_rows
from palaestra.records import Json, Message, Row, ToolCall
from palaestra.seeding import Stream

ErrorKind: TypeAlias = Literal["wrong field", "vanished write", "invented row"]


class ErrorSimulator:
    """Answers as the true world does, with errors; a `ChatModel` for one episode.

    Args:
        instance: The task.
        percent: How many answers in a hundred have an error, where one can be made.
        seed: Which ones, and what is wrong with them.

    Attributes:
        world: The world that it answers from: the true one, and its errors.
        errors: By the number of the call: the kind of its error.
    """

    def __init__(self, instance: Instance, *, percent: int, seed: int = 0) -> None:
        self.world = LiveEpisode(instance, seed=0, max_turns=instance.spec.max_turns, toolbox=instance.world.toolbox)
        self.errors: dict[int, ErrorKind] = {}
        self._schema = instance.world.schema
        self._percent = percent
        self._stream = Stream.root("simulator-errors", instance.spec.id, seed)
        self._played = 0
        self._last = ""

    def complete(self, messages: Sequence[Message], *, seed: int) -> str:
        """The answer to the call in the last message."""
        del seed
        asked: Any = orjson.loads(messages[-1]["content"])
        if len(asked["calls"]) < self._played:
            return self._last  # it is asked again
        for one in asked["calls"][self._played :]:
            self._run(_call(one))  # those that are answered by code
        mark = len(self.world.state.journal)
        answer: Json = orjson.loads(self._run(_call(asked["call"])))
        own = self._stream.split(self._played)
        if own.below(100) < self._percent and not (isinstance(answer, dict) and "error" in answer):
            self._err(answer, mark, own)
        self._last = orjson.dumps(answer).decode()
        return self._last

    def _run(self, call: ToolCall) -> str:
        self._played += 1
        self.world.begin_turn()
        messages = self.world.run((call,))
        self.world.close_turn(tuple(messages), readable=True)
        return messages[0]["content"]

    def _err(self, answer: Json, mark: int, own: Stream) -> None:
        """Make one error, of a kind that can be made in this answer, in the answer and in the rows."""
        state = self.world.state
        before: dict[str, Row | None] = {}
        for change in state.journal[mark:]:
            before.setdefault(change.key, change.before)
        rows = [row for row in find_rows(answer, self._schema, state) if state.peek(row.kind, row.key) is not None]
        fields = [(row, name) for row in rows for name in sorted(row.columns) if self._others(row, name)]
        written = [(row, old) for row in rows if (old := before.get(row.key)) is not None and row.differences(old)]
        lists = [
            found for part in _lists(answer) if (found := find_rows(part, self._schema, state)) and found[0] in rows
        ]
        possible: dict[ErrorKind, Callable[[], None]] = {}
        if fields:
            possible["wrong field"] = lambda: self._falsify(answer, *own.choice(fields), own)
        if written:
            possible["vanished write"] = lambda: self._take_back(answer, *own.choice(written))
        if lists:
            possible["invented row"] = lambda: self._invent(answer, own.choice(lists)[0], own)
        if possible:
            kind = own.choice(sorted(possible))
            self.errors[self._played - 1] = kind
            possible[kind]()

    def _others(self, row: AnswerRow, column: str) -> list[Any]:
        """Other values that rows of the table have in a column, in an order of their own."""
        found = {
            orjson.dumps(value): value
            for other in self.world.state.find(row.kind)
            for value in [getattr(other, column)]
        }
        return [found[key] for key in sorted(found) if found[key] != row.columns[column]]

    def _falsify(self, answer: Json, row: AnswerRow, column: str, own: Stream) -> None:
        self._put(answer, row, {column: own.choice(self._others(row, column))})

    def _take_back(self, answer: Json, row: AnswerRow, old: Row) -> None:
        self._put(answer, row, {name: getattr(old, name) for name in row.differences(old)})

    def _put(self, answer: Json, row: AnswerRow, columns: Mapping[str, Any]) -> None:
        self.world.state.update(self.world.state.get(row.kind, row.key), **columns)
        _edit(answer, row.key, {name: orjson.loads(orjson.dumps(value)) for name, value in columns.items()})

    def _invent(self, answer: Json, row: AnswerRow, own: Stream) -> None:
        """One more row in a list: another row of the table under a new id, of what the first row of the list is of."""
        state, references = self.world.state, self._schema[row.kind.table].references
        listed = state.get(row.kind, row.key)
        other = own.choice(state.find(row.kind))
        key = f"{row.key}{own.below(10)}"
        if state.peek(row.kind, key) is not None:
            return
        made = state.insert(replace(other, id=key, **{name: getattr(listed, name) for name in references}))
        shown: dict[str, Json] = orjson.loads(made.json())
        for part in _lists(answer):
            if any(isinstance(one, dict) and one.get("id") == row.key for one in part):
                part.append({"id": key, **{name: shown[name] for name in shown if name in row.columns}})


def _call(plain: Any) -> ToolCall:
    return ToolCall(tool=plain["tool"], arguments=plain["arguments"])


def _edit(value: Json, key: str, columns: Mapping[str, Json]) -> None:
    """Let every object of an id within an answer have these columns."""
    if isinstance(value, dict):
        if value.get("id") == key:
            value.update({name: new for name, new in columns.items() if name in value})
        for part in value.values():
            _edit(part, key, columns)
    elif isinstance(value, list):
        for part in value:
            _edit(part, key, columns)


def _lists(value: Json) -> list[list[Json]]:
    if isinstance(value, dict):
        return [found for part in value.values() for found in _lists(part)]
    return [value] if isinstance(value, list) else []
