"""One episode of tau2-bench, on its bare `Environment`."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from palaestra.benchmarks.external.draws import draw_turn
from palaestra.benchmarks.external.protocol import (
    WireCall,
    WireMessage,
    WireOpening,
    WireReply,
    WireResult,
    WireTurn,
    WireVerdict,
    answer_result,
    refusal_result,
    reply,
    tool,
)
from palaestra.benchmarks.external.tau2.served import package
from palaestra.benchmarks.external.tau2.served.domains import Domain
from palaestra.benchmarks.external.tau2.served.judging import criteria, judge_episode
from palaestra.benchmarks.external.tau2.served.user import PREFACE, TRANSFER, Tau2ScriptedUser, prompting

DONE = "done"
"""The package's own tool for the end of a solo task."""
_ERRORS = 10
"""Failed calls that end an episode, in the package's orchestrator."""


class Tau2Episode:
    """A task being played.

    Args:
        domain: Where.
        task: The package's task. Any: as it comes.
    """

    def __init__(self, domain: Domain, task: Any) -> None:
        self._domain, self._task = domain, task
        prepared = task.initial_state
        history = list(prepared.message_history or ()) if prepared else []
        self._env: Any = domain.environment(task, solo_mode=domain.solo)
        self._env.set_state(
            prepared.initialization_data if prepared else None,
            prepared.initialization_actions if prepared else None,
            list(history),
        )
        self._trajectory: list[Any] = list(history)
        self._before = len(history)
        acts = [action for action in task.evaluation_criteria.actions or () if action.requestor == "user"]
        self._user = Tau2ScriptedUser(task.user_scenario.instructions, acts, self._was_given)
        self._calls = self._errors = 0
        self._transferred = False
        self._tools = self._schemas()
        self._seen = [self._request()]
        self._hash: str | None = None

    def _was_given(self, name: str) -> bool:
        given: Mapping[str, Any] = self._env.user_tools.db.user_discoverable_tools.data
        return any(row.get("tool_name") == name for row in given.values())

    def _schemas(self) -> list[dict[str, Any]]:
        tools = list(self._env.get_tools())
        if not self._domain.solo:
            return [one.openai_schema for one in tools]
        done = tool(DONE, "Call this function when you are done with the task.", {})
        return [one.openai_schema for one in (*tools, *self._env.get_user_tools())] + [done]

    def _request(self) -> str:
        if self._domain.solo:
            return str(self._task.ticket)
        said = "".join(f"Said before, by the {m.role}: {m.content}\n\n" for m in self._trajectory if m.content)
        return f"{said}{PREFACE}\n\n{self._user.request}"

    def opening(self) -> WireOpening:
        """The package's instructions and policy, and the ticket or the user's words."""
        messages: list[WireMessage] = [
            {"role": "system", "content": self._instructions()},
            {"role": "user", "content": self._request()},
        ]
        return {
            "messages": messages,
            "tools": self._tools,
            "criteria": criteria(self._task),
            "prose": not self._domain.solo,
        }

    def _instructions(self) -> str:
        policy = self._domain.policy(self._task)
        agent = package.AGENT
        if not self._domain.solo:
            told: str = agent.SYSTEM_PROMPT.format(agent_instruction=agent.AGENT_INSTRUCTION, domain_policy=policy)
            return told
        stop = agent.AGENT_SOLO_INSTRUCTION.format(stop_function_name=DONE)
        solo: str = agent.SYSTEM_PROMPT_SOLO.format(
            agent_instruction=stop, domain_policy=policy, ticket=self._task.ticket
        )
        return solo

    # A turn

    def turn(self, calls: Sequence[WireCall], prose: str) -> WireReply:
        """Run the calls; then have the user answer, where something was said."""
        names = [call["tool"] for call in calls]
        done = names.index(DONE) if self._domain.solo and DONE in names else None
        results = self._ran(calls[:done])
        if done is not None:
            return reply([*results, answer_result("Done.")], end="finished")
        if self._errors >= _ERRORS:
            return reply(results, end="deadline")
        if self._domain.solo or (calls and not prose):
            return reply(results)
        return self._answer(results, prose)

    def _ran(self, calls: Sequence[WireCall]) -> list[WireResult]:
        if not calls:
            return []
        asked = [self._call(call["tool"], call["arguments"], "assistant") for call in calls]
        answers = [self._response(call) for call in asked]
        self._trajectory.append(package.MESSAGES.AssistantMessage(role="assistant", tool_calls=asked))
        self._trajectory += answers
        return [
            refusal_result(message.content or "", "failed") if message.error else answer_result(message.content or "")
            for message in answers
        ]

    def _call(self, name: str, arguments: Mapping[str, Any], requestor: str) -> Any:
        self._calls += 1
        return package.MESSAGES.ToolCall(
            id=f"call-{self._calls}", name=name, arguments=dict(arguments), requestor=requestor
        )

    def _response(self, call: Any) -> Any:
        if self._writes(call.name):
            self._hash = None
        if call.name == "calculate" and "**" in str(call.arguments.get("expression")):
            said, error = "Error: powers are refused, since they can take forever", True  # the package evaluates them
        else:
            try:
                message = self._env.get_response(call)
                said, error = message.content, message.error
            except Exception as problem:  # what it answers could not be written down
                said, error = f"Error: {problem}", True
        self._errors += error
        self._transferred |= call.name == TRANSFER and not error
        self._seen.append(str(said))
        return package.MESSAGES.ToolMessage(
            id=call.id, role="tool", content=said, requestor=call.requestor, error=error
        )

    def _writes(self, name: str) -> bool:
        kits = [kit for kit in (self._env.tools, self._env.user_tools) if kit is not None and kit.has_tool(name)]
        return any(kit.tool_mutates_state(name) for kit in kits)

    def _answer(self, results: list[WireResult], prose: str) -> WireReply:
        self._trajectory.append(package.MESSAGES.AssistantMessage(role="assistant", content=prose))
        if self._transferred:
            return reply(results, end="user_left")
        if (act := self._user.act(prose)) is not None:
            return reply(results, messages=[{"role": "user", "content": self._act(act)}])
        said = self._user.answer(prose)
        if said is None:
            return reply(results, end="user_left")
        self._trajectory.append(package.MESSAGES.UserMessage(role="user", content=said))
        return reply(results, messages=[{"role": "user", "content": said}])

    def _act(self, act: Any) -> str:
        call = self._call(act.name, act.arguments, "user")
        message = self._response(call)
        self._trajectory.append(package.MESSAGES.UserMessage(role="user", tool_calls=[call]))
        self._trajectory.append(message)
        said = f"I did this: {act.name}({json.dumps(act.arguments)}). It says: {message.content}"
        self._trajectory.append(package.MESSAGES.UserMessage(role="user", content=said))
        return said

    # What is asked of it

    def verdict(self, end: str) -> WireVerdict:
        """The package's score."""
        return judge_episode(self._domain, self._task, self._trajectory, end)

    def gold(self) -> list[WireTurn] | None:
        """The calls of the solution, one a turn; words where the user acts, and for what the user must be told."""
        wanted = self._task.evaluation_criteria
        if wanted.actions is None and wanted.env_assertions:
            return None  # an end state without a way to it
        turns = [self._gold_turn(action) for action in wanted.actions or ()]
        if self._domain.solo:
            return [*turns, _one(DONE, {})]
        told = "; ".join(wanted.communicate_info or ())
        ending: WireTurn = {"calls": [], "prose": f"This is done. {told}".strip()}
        return [*turns, ending, ending]

    def _gold_turn(self, action: Any) -> WireTurn:
        if action.requestor == "user" and not self._domain.solo:
            return prompting(action, self._user.request)
        return _one(action.name, action.arguments)

    def legal(self, draw: int) -> WireTurn | None:
        """A call with words that were seen, or words; in solo mode the end instead."""
        turn = draw_turn(draw, [one["function"] for one in self._tools], self._seen)
        return turn if turn["calls"] or not self._domain.solo else _one(DONE, {})

    def state(self) -> str:
        """The databases and the conversation's place."""
        if self._hash is None:
            unlocked = sorted(getattr(self._env.tools, "_agent_discoverable_tools_state", ()))
            held = [self._env.get_db_hash(), self._env.get_user_db_hash(), unlocked]
            self._hash = hashlib.sha256(json.dumps(held).encode()).hexdigest()
        return json.dumps([self._hash, self._errors, self._transferred, self._user.position, self._describe()])

    def _describe(self) -> list[str]:
        """What COMMUNICATE and ACTION go by."""
        own = [m for m in self._trajectory[self._before :] if m.role == "assistant"]
        said = json.dumps([[m.content, [[c.name, c.arguments] for c in m.tool_calls or ()]] for m in own])
        return [hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()]

    def close(self) -> None:
        """Nothing to free."""


def _one(name: str, arguments: Mapping[str, Any]) -> WireTurn:
    return {"calls": [{"tool": name, "arguments": dict(arguments)}], "prose": ""}
