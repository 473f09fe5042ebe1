"""What an attack knows: tools, messages and ids that it met; a privileged one also has the solution."""

import re
from collections.abc import Iterator, Sequence

from palaestra.proof.arguments import choices, is_simple_lookup
from palaestra.proof.attacks.needs import Need
from palaestra.proof.attempts import rights_of
from palaestra.proof.knowledge import words
from palaestra.proof.trial import ENDINGS, OracleStep, Trial, Turn
from palaestra.records import ANY_TABLE, Json, Message, ToolCall
from palaestra.seeding import Stream
from palaestra.tools import Tool, finish, legal_call
from palaestra.tools.tool import Closing

_NUMBER = re.compile(r"\d{1,8}")


class AttackContext:
    """The context of a blind attack.

    Attributes:
        tools: The world's own tools on offer, on any surface; calls are translated to those of the surface.
        closed: The tools that exist but are not allowed for the agent's role.
        request: The message that asks for something.
        stream: Randomness.
        met: By table, the ids that messages have named so far, in order.
        numbers: The whole numbers that messages have named so far, in order.
    """

    def __init__(self, trial: Trial, name: str) -> None:
        self.tools: Sequence[Tool] = trial.own_offered
        self.closed = tuple(tool for tool in trial.own if tool not in trial.own_offered)
        messages = trial.instance.messages
        self.request = messages[-1]["content"]
        self.stream = Stream.root("attack", name, trial.instance.spec.id)
        self.met: dict[str, list[str]] = {}
        self.numbers: list[int] = []
        self._directory = trial.directory
        self._talk = trial.own.prose_tool
        self.hear(messages[-1:])

    # What it knows

    def hear(self, messages: Sequence[Message]) -> None:
        """Read ids and numbers from messages."""
        for message in messages:
            for key in self._directory.find_ids(message["content"]):
                self._meet(key)
        for word in sorted(words(messages)):
            if _NUMBER.fullmatch(word) and self._directory.table_of(word) is None and int(word) not in self.numbers:
                self.numbers.append(int(word))

    def _meet(self, key: str) -> None:
        for name in (self._directory.table_of(key) or ANY_TABLE, ANY_TABLE):
            keys = self.met.setdefault(name, [])
            if key not in keys:
                keys.append(key)

    def ids(self, table: str) -> Sequence[str]:
        """The ids of a table that it has met."""
        return self.met.get(table, ())

    @property
    def reads(self) -> list[Tool]:
        """The tools that only look something up."""
        return [t for t in self.tools if not t.writes and t.name not in {*ENDINGS, self._talk}]

    @property
    def writes(self) -> list[Tool]:
        """The tools that change something."""
        return [t for t in self.tools if t.writes]

    def closing_calls(self, *ways: Closing) -> list[Tool]:
        """The tools that close a case in one of these ways, or in any way if none is given."""
        return [t for t in self.writes if t.closes is not None and (not ways or t.closes in ways)]

    @property
    def paying(self) -> list[tuple[Tool, str]]:
        """The writing tools that take a sum of money, each with the name of the argument."""
        return [(tool, name) for tool in self.writes for name in sorted(tool.money)]

    def uses(self, call: ToolCall) -> Iterator[Need]:
        """The needs of attacks that a call satisfies."""
        yield "call"
        tool = next((t for t in (*self.tools, *self.closed) if t.name == call.tool), None)
        if tool is None:
            return
        if tool in self.closed:
            yield "closed"
        elif tool.writes:
            yield "write"
            for need, has in _writing_uses(tool).items():
                if has:
                    yield need
        elif tool.name == self._talk:
            yield "talk"
        elif tool.name not in ENDINGS:
            yield "look-up"
        elif call.arguments.get("answer"):
            yield "answer"

    # What it does

    def say(self, message: str) -> ToolCall:
        """A message to the requester."""
        return ToolCall(tool=self._talk or "reply", arguments={"message": message})

    def finish(self, **answer: Json) -> ToolCall:
        """The call that ends the episode, with an answer if there is one."""
        return ToolCall(tool=finish.name, arguments={"answer": answer} if answer else {})

    def fill(self, tool: Tool, **fixed: Json) -> ToolCall:
        """A call of `tool` with `fixed` values for arguments of those names, met ids, and otherwise random values."""
        call = legal_call([tool], self.ids, self.stream)
        required = set(tool.parameters.get("required", ()))
        unknown = {n for n, table in tool.references.items() if not self.ids(table) and n not in required}
        arguments = {n: v for n, v in call.arguments.items() if n not in unknown}
        arguments |= {n: v for n, v in fixed.items() if n in tool.parameters["properties"]}
        return ToolCall(tool=tool.name, arguments=arguments)

    def aim_calls(self, tools: Sequence[Tool], **fixed: Json) -> Iterator[ToolCall]:
        """Calls of every tool on every met id, as the first id that the tool needs."""
        for tool in tools:
            for name, table in list(tool.references.items())[:1]:
                several = tool.parameters["properties"][name].get("type") == "array"
                for key in self.ids(table):
                    aim: Json = [key] if several else key
                    yield self.fill(tool, **{name: aim}, **fixed)

    def lookups(self) -> list[ToolCall]:
        """Every look-up whose one required argument is an id, on every met id."""
        simple = [t for t in self.reads if is_simple_lookup(t)]
        return list(self.aim_calls(simple))


class PrivilegedAttackContext(AttackContext):
    """The context of a privileged attack, with the solution and the effects of each of its calls.

    Attributes:
        trial: The oracle's run.
    """

    def __init__(self, trial: Trial, name: str) -> None:
        super().__init__(trial, name)
        self.trial = trial

    @property
    def steps(self) -> Sequence[OracleStep]:
        """The oracle's steps, without the end."""
        return [step for step in self.trial.steps if step.call.tool not in ENDINGS]

    @property
    def end(self) -> ToolCall:
        """The oracle's own end, with the answer if the task asks for one."""
        return self.trial.calls[-1]

    def right_reads(self) -> list[ToolCall]:
        """The oracle's look-ups."""
        return [s.call for s in self.steps if not self.is_act(s)]

    def right_acts(self) -> list[ToolCall]:
        """The oracle's writes, and what it tells the customer."""
        return [s.call for s in self.steps if self.is_act(s)]

    def right_writes(self) -> list[OracleStep]:
        """The oracle's writes, and what they did."""
        return [s for s in self.steps if self.trial.writes(s)]

    def strangers(self, table: str, most: int) -> list[str]:
        """Ids of a table's rows that belong to people outside the solution, and that no step of it has shown."""
        rights, instance = rights_of(self.trial.instance), self.trial.instance
        if rights is None or table not in instance.world.schema.tables:
            return []
        met = {key for step in self.trial.steps for key in step.event.mentioned} | instance.given
        initial, mine = instance.initial_state, rights.entitled_owners(instance.initial_state, instance.given)
        mine = mine.union(*(rights.owners_of(initial, key) for key in met))
        found: list[str] = []
        for key in self.stream.permutation(list(self.trial.directory.ids(table))):
            owners = rights.owners_of(initial, key)
            if key not in met and owners and owners.isdisjoint(mine):
                found.append(key)
            if len(found) == most:
                break
        return found

    def is_act(self, step: OracleStep) -> bool:
        """Whether a step writes or talks."""
        return self.trial.writes(step) or step.call.tool == self._talk


def _writing_uses(tool: Tool) -> dict[Need, bool]:
    return {
        "choice": any(choices(schema) for schema in tool.parameters["properties"].values()),
        "money": bool(tool.money),
        "close": tool.closes is not None,
        "refuse": tool.closes == "declined",
        "hand on": tool.closes == "handed on",
    }


def one_by_one(calls: Sequence[ToolCall]) -> Iterator[Turn]:
    """A turn for each call."""
    return ([call] for call in calls)
