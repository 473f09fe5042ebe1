"""The agents of a proof: those that measure a task without solving it, and the oracle."""

from collections.abc import Sequence

from palaestra.agents import (
    AlwaysRefuse,
    JunkText,
    LegalRandom,
    ReadOnlyAgent,
    SchemaRandom,
    as_action,
    finish_at_once,
    no_op,
    oracle,
)
from palaestra.digest import canonical
from palaestra.envs import Instance, ToolEnv
from palaestra.proof.arguments import is_simple_lookup
from palaestra.proof.directory import IdDirectory
from palaestra.proof.page_agents import PAGE_AGENTS, has_pages, page_agents
from palaestra.protocols import Action, Agent
from palaestra.records import ANY_TABLE, Json, Message, ToolCall
from palaestra.seeding import Stream
from palaestra.tools import Tool, legal_call

FLOORS = ("no-op", "finish-at-once", "always-refuse", "junk", "reader", "schema-random", "legal-random")
"""Agents that know nothing of the task, on any surface; pages add those of `PAGE_AGENTS`."""
IDLE = FLOORS[:5]
"""The floors without random choices. The random ones are measured, and may solve a task by luck."""
RANDOM = FLOORS[5:]
"""The floors that act at random."""
NEVER = (*IDLE, *PAGE_AGENTS)
"""Agents that must never solve a task."""
CEILING = 20
"""The highest mean score allowed for any of them: the points of look-ups without any work."""


def baselines(env: ToolEnv) -> dict[str, Agent]:
    """Every bundled agent for `env` by name; the oracle first."""
    desk = ToolRoles(env)
    return {
        "oracle": oracle(env.oracle),
        "no-op": no_op(),
        "finish-at-once": finish_at_once(),
        "always-refuse": AlwaysRefuse(desk.refusals),
        "junk": JunkText(),
        "reader": ReadOnlyAgent(desk.lookups),
        "schema-random": SchemaRandom(env.action_space.sample, env.action_space.seed),
        "legal-random": LegalRandom(env.legal_actions),
        **(page_agents(env) if has_pages(env) else {}),
    }


def floors(env: ToolEnv) -> tuple[str, ...]:
    """The names of the agents for `env` that know nothing of the task."""
    return (*FLOORS, *PAGE_AGENTS) if has_pages(env) else FLOORS


class ToolRoles:
    """What a world declares about its tools, for agents that see only messages and schemas.

    Args:
        env: The environment that they act in; its task may change.
    """

    def __init__(self, env: ToolEnv) -> None:
        self._env = env
        self._of: tuple[Instance, IdDirectory] | None = None
        self._said: dict[bytes, Action] = {}
        self._said_in: IdDirectory | None = None

    def lookups(self, text: str) -> Sequence[Action]:
        """Every look-up whose one required argument is an id, on every id that a text names.

        On a surface of steps, each is an action of several calls.
        """
        calls: list[ToolCall] = []
        for tool in self._offer():
            if not tool.writes and is_simple_lookup(tool):
                [name] = tool.parameters["required"]
                keys = self._directory().find_ids(text, tool.references[name])
                calls += [ToolCall(tool=tool.name, arguments={name: _as_asked(tool, name, key)}) for key in keys]
        if self._env.played_surface.begin is None:
            return self._actions(calls)
        return [self._steps(call) for call in calls]

    def refusals(self, messages: Sequence[Message], stream: Stream) -> Sequence[Action]:
        """A call of a tool that refuses a case, with ids from the request if it names any, otherwise random values."""
        said = "\n".join(message["content"] for message in messages if message["role"] == "user")
        declining = [tool for tool in self._offer() if tool.closes == "declined"][:1]
        return self._actions([self._refusal(tool, said, stream) for tool in declining])

    def _refusal(self, tool: Tool, said: str, stream: Stream) -> ToolCall:
        directory, arguments = self._directory(), dict(legal_call([tool], self._directory().ids, stream).arguments)
        named = directory.find_ids(said)
        for name in tool.references:
            fitting = [key for key in named if tool.references[name] in (ANY_TABLE, directory.table_of(key))]
            if fitting and name in arguments:
                arguments[name] = _as_asked(tool, name, fitting[0])
                named = [key for key in named if key != fitting[0]] or named
        return ToolCall(tool=tool.name, arguments=arguments)

    def _offer(self) -> list[Tool]:
        return self._env.world.toolbox.tools_for(self._env.world.role)

    def _directory(self) -> IdDirectory:
        instance = self._env.instance
        if self._of is None or self._of[0] is not instance:
            self._of = (instance, IdDirectory(instance.world, instance.initial_state))
        return self._of[1]

    def _steps(self, call: ToolCall) -> Action:
        """A look-up on a surface of steps, such as opening and scrolling a page: one action of several calls."""
        directory, key = self._directory(), canonical((call.tool, call.arguments))
        if self._said_in is not directory:
            self._said_in, self._said = directory, {}
        if key not in self._said:
            steps = self._translate([call])
            self._said[key] = [{"tool": step.tool, "arguments": dict(step.arguments)} for step in steps]
        return self._said[key]

    def _actions(self, calls: Sequence[ToolCall]) -> list[Action]:
        """The calls in the tools of the surface in use, one turn each."""
        return [as_action(call) for call in self._translate(calls)]

    def _translate(self, calls: Sequence[ToolCall]) -> Sequence[ToolCall]:
        return self._env.played_surface.translate(calls, self._env.instance.initial_state)


def _as_asked(tool: Tool, name: str, key: str) -> Json:
    return [key] if tool.parameters["properties"][name].get("type") == "array" else key
