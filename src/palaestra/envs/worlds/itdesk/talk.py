"""Requesters who answer: what they can be asked about, the words by which it is known, and the task that has them."""

from collections.abc import Mapping
from dataclasses import replace

from palaestra.envs.kit import refuse, with_user
from palaestra.envs.task import Task
from palaestra.envs.user import Persona
from palaestra.records import ToolCall

TOPICS: Mapping[str, tuple[str, ...]] = {
    "day": ("day", "date", "until when", "how long", "last day", "till when"),
    "device": ("device", "laptop", "phone", "monitor", "machine", "dev-#"),
    "colleague": ("colleague", "person", "who takes", "name", "somebody", "co-worker", "member"),
    "access": ("access", "role", "grant", "permission", "extension"),
    "shift": ("shift", "on-call", "duty"),
}


def with_requester(task: Task, user: Persona, *, about: str) -> Task:
    """A task whose requester answers; where it is refused, the reply says no to what it is `about`.

    Args:
        task: The task.
        user: Who answers.
        about: The topic of what they want.
    """
    refuses = any(one.tool == "decline_request" for one in task.oracle)
    oracle = [_state_refusal(one, about) if refuses else one for one in task.oracle]
    return with_user(replace(task, oracle=oracle), user)


def _state_refusal(one: ToolCall, about: str) -> ToolCall:
    """A reply without an act as a refusal; any other call as it is."""
    if one.tool != "reply" or "act" in one.arguments:
        return one
    return refuse(about, str(one.arguments["message"]))
