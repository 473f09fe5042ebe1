"""The views of a session for players and authors, as JSON.

A player reads messages, tool schemas, why the episode ended, and rewards if the creator allows it. Only authors read
task id, family, criteria, points by layer, events, rows and hashes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import orjson

from palaestra.digest import as_json
from palaestra.steps import ResetRecord, StepRecord
from palaestra.tools import Schemas
from palaestra.tools.wire import plain_call

_OPTIONS = orjson.OPT_NON_STR_KEYS


def dump(value: object) -> bytes:
    """A record as JSON: sets sorted, decimals as text, bytes in base64.

    Raises:
        TypeError: it holds something that is not data.
    """
    return orjson.dumps(value, default=_plain, option=_OPTIONS)


def _plain(value: object) -> object:
    if isinstance(value, set | frozenset):
        return sorted(cast("set[str]", value))
    if isinstance(value, Schemas):
        return orjson.Fragment(value.written)
    if isinstance(value, Mapping):
        return dict(cast("Mapping[object, object]", value))
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return list(cast("Sequence[object]", value))
    return as_json(value)


def player_reset(done: ResetRecord, *, handle: str) -> bytes:
    """The beginning of an episode, for a player.

    Args:
        done: The record of the reset.
        handle: The task's handle.
    """
    return dump({"messages": done.messages, "tools": done.tools, "task": handle, "seed": done.seed})


def player_step(done: StepRecord, *, turn: int, shows_reward: bool) -> bytes:
    """A turn, for a player."""
    shown: dict[str, Any] = {"messages": done.messages, "turn": turn, "end": done.end, "unreadable": done.unreadable}
    if shows_reward:
        shown["reward"] = done.reward
    if done.tools is not None:
        shown["tools"] = done.tools
    return dump(shown)


def author_reset(done: ResetRecord, *, handle: str) -> bytes:
    """The beginning of an episode, for an author: the whole record."""
    return dump({"record": done, "handle": handle})


def author_step(done: StepRecord, *, turn: int) -> bytes:
    """A turn, for an author: the whole record. Calls that JSON cannot hold appear in the form of the log."""
    try:
        return dump({"record": done, "turn": turn})
    except TypeError:
        return dump({"record": replace(done, calls=tuple(map(plain_call, done.calls))), "turn": turn})
