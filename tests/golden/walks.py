"""Seeded walks through every family and setting, each folded into one hash: the same everywhere, or a test fails.

A walk plays episodes of one family (or, under a setting that is not plain, of all of them) by the oracle's calls, by
legal ones, by what schemas allow and by a mixture, until it has taken its steps. Every step adds state hash, anchor,
reward, points and observation to a chain; every episode's end adds the environment's digest. The head of the chain
stands for all of it.

    .venv/bin/python -m tests.golden.walks                  # show the heads of a round
    .venv/bin/python -m tests.golden.walks --start spawn    # worked out in a process that was started so
    .venv/bin/python -m tests.golden.walks --write          # behaviour changed on purpose: these are the golden ones
"""

import argparse
import itertools
import json
import multiprocessing
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, cast

import gymnasium as gym

import palaestra
from palaestra.digest import Chain
from palaestra.envs import ToolEnv
from palaestra.protocols import Action
from palaestra.records import ToolCall
from palaestra.seeding import Stream
from palaestra.tools import sample_call

ENV_ID = "palaestra/Storefront-v0"

NOISE: Mapping[str, int | bool] = {
    "distractors": 12,
    "renames": True,
    "caps": True,
    "stale": 20,
    "conflicts": 2,
    "failures": 15,
    "rate_limit": 12,
    "latency": 50,
    "deadline": 3_600,
    "events": 30,
    "injections": 50,
}
"""Every switch, with a value at which it is felt."""

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "handbook": {"handbook": 7},
    "generic surface": {"surface": "generic"},
    **{f"noise: {name}": {"noise": {name: value}} for name, value in NOISE.items()},
    "noise: every switch": {"noise": dict(NOISE)},
}
"""Keyword arguments of `gymnasium.make`, by what they are called here."""

GOLDEN = Path(__file__).with_name("storefront.json")
STEPS = 300
"""Steps of one walk at least; it ends with the episode that reaches them."""
LISTED = ("train", "dev", "heldout", "heldout-policy")
KINDS = ("oracle", "mixed", "legal", "schema")
ODD: tuple[Action, ...] = ("<tool_call>{", "One moment, please.", [], {"tool": "get_ordr", "arguments": {}})
"""Turns that hold no call, or none that exists."""
_ENDERS = frozenset({"finish", "give_up"})

Heads: TypeAlias = dict[str, "Head"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What a walk came to."""

    head: str
    steps: int


def make(setting: str) -> ToolEnv:
    """An environment under a setting."""
    return cast("ToolEnv", gym.make(ENV_ID, **SETTINGS[setting]).unwrapped)


def walks() -> list[tuple[str, str]]:
    """Every walk: its setting, and its family or "every family"."""
    return [("plain", family) for family in listed()] + [(s, "every family") for s in SETTINGS if s != "plain"]


def listed() -> list[str]:
    """The families of which a split lists tasks."""
    known = make("plain").task_set
    return sorted({task.rpartition("/")[0] for split in LISTED for task in known.ids(split)})


def tasks_of(env: ToolEnv, family: str) -> list[str]:
    """The first listed task of a family in each split; of every family where it says so."""
    ids = (task for split in LISTED for task in env.task_set.ids(split))
    first: dict[tuple[str, str], str] = {}
    for task in ids:
        name, _, index = task.rpartition("/")
        if family in (name, "every family"):
            first.setdefault((name, index[0]), task)
    return list(first.values())


def taken(walk: tuple[str, str], *, turn: int) -> Head:
    """Take a walk for the `turn`-th time, each time by other draws."""
    setting, family = walk
    env, stream, chain = make(setting), Stream.root("walk", setting, family, turn), Chain()
    tasks, steps = tasks_of(env, family), 0
    for kind in itertools.cycle(KINDS):
        if steps >= STEPS:
            return Head(head=chain.head, steps=steps)
        steps += _play(env, chain, stream.choice(tasks), kind, stream)
    raise AssertionError("a cycle ended")


def _play(env: ToolEnv, chain: Chain, task: str, kind: str, stream: Stream) -> int:
    """Add one episode to the chain; how many steps it had."""
    observation, info = env.reset(seed=stream.below(2**31), options={"task": task})
    chain.add(task, kind, observation, info["state_hash"], info["anchor"], info["rubric"], tuple(info["tools"]))
    steps = 0
    for action in _actions(env, kind, stream):
        steps += 1
        observation, reward, *_, info = env.step(action)
        chain.add(info["state_hash"], info["anchor"], reward, info["points"], info["end"], observation)
        if env.end is not None:
            break
    chain.add(env.digest())
    return steps


def _actions(env: ToolEnv, kind: str, stream: Stream) -> Iterator[Action]:
    offered = list(env.toolbox.tools_for(env.world.role))
    oracle = list(env.oracle()) if kind in ("oracle", "mixed") else []
    while True:
        if oracle and (kind == "oracle" or stream.chance(60)):
            yield _as_action(oracle.pop(0))
        elif kind == "schema":
            yield _as_action(sample_call(offered, stream))
        elif kind == "mixed" and stream.chance(10):
            yield stream.choice(ODD)
        else:
            drawn = cast("list[dict[str, Any]]", env.legal_actions(4))
            lasting = [action for action in drawn if action["tool"] not in _ENDERS]
            yield drawn[0] if stream.chance(10) or not lasting else lasting[: stream.between(1, 2)]


def _as_action(call: ToolCall) -> Action:
    return {"tool": call.tool, "arguments": dict(call.arguments)}


def heads(*, turn: int, start: str | None = None, part: int = 0, parts: int = 1) -> Heads:
    """The heads of walks, by setting and family.

    Args:
        turn: Which round of walks.
        start: How another process is started, which takes them; `None` takes them in this one.
        part: Which part of the walks, from 0; every `parts`-th walk belongs to it.
        parts: How many parts the walks are cut into.
    """
    todo, take = walks()[part::parts], partial(taken, turn=turn)
    names = [f"{setting} | {family}" for setting, family in todo]
    if start is None:
        return dict(zip(names, map(take, todo), strict=True))
    with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context(start)) as pool:
        return dict(zip(names, pool.map(take, todo), strict=True))


def golden() -> Mapping[str, str]:
    """The heads that the repository keeps for this version; empty where it keeps none."""
    if not GOLDEN.exists():
        return {}
    kept: dict[str, dict[str, dict[str, str]]] = json.loads(GOLDEN.read_text())
    return kept.get(ENV_ID, {}).get(palaestra.__version__, {})


def write(found: Heads) -> None:
    """Keep `found` as the golden heads of this version."""
    heads_by_walk = {name: head.head for name, head in found.items()}
    GOLDEN.write_text(json.dumps({ENV_ID: {palaestra.__version__: heads_by_walk}}, indent=1, ensure_ascii=False) + "\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Show, or keep, the heads of a round."""
    parser = argparse.ArgumentParser(description="Seeded walks, each folded into one hash.")
    parser.add_argument("--turn", type=int, default=0, help="which round of walks; the golden one is 0")
    parser.add_argument("--part", type=int, default=0, help="which part of the walks, from 0")
    parser.add_argument("--parts", type=int, default=1, help="how many parts the walks are cut into")
    parser.add_argument("--start", choices=multiprocessing.get_all_start_methods(), help="in a process started so")
    parser.add_argument("--write", action="store_true", help="make the heads of round 0 the golden ones")
    given = parser.parse_args(arguments)
    if given.write:
        found = heads(turn=0, start=given.start)
        write(found)
    else:
        found = heads(turn=given.turn, start=given.start, part=given.part, parts=given.parts)
    json.dump({name: [head.head, head.steps] for name, head in found.items()}, sys.stdout, ensure_ascii=False)


if __name__ == "__main__":
    main()
