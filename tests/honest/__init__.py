"""Honest work in the Storefront, as episodes: what detectors must be silent on, and what their thresholds rest on."""

from collections.abc import Iterator, Sequence
from functools import cache

import gymnasium as gym

from palaestra.agents import AlwaysRefuse, PatientAgent, ScriptedAgent, as_action, oracle, rollout
from palaestra.envs import ToolEnv
from palaestra.envs.attack import WorldScript
from palaestra.envs.worlds.storefront.attacks.script import play_script
from palaestra.proof.baselines import ToolRoles
from palaestra.protocols import Action, Agent
from palaestra.records import JsonSchema, Message
from palaestra.trajectory import Episode

AGENTS = ("oracle", "alternatives", "patient", "always-refuse", "template", "generic oracle")
NOISE = {"failures": 20, "rate_limit": 6, "events": 2}
"""The noise that the patient agent works under."""


@cache
def storefront(kind: str = "") -> ToolEnv:
    """An environment: conventional where nothing is said, else "noise" or "generic"."""
    noise, surface = NOISE if kind == "noise" else None, "generic" if kind == "generic" else None
    made = gym.make("palaestra/Storefront-v0", noise=noise, surface=surface).unwrapped
    assert isinstance(made, ToolEnv)
    return made


def tasks_of(split: str, each: int) -> list[str]:
    """The first `each` tasks of every family of a split."""
    count: dict[str, int] = {}
    found = list[str]()
    for task in storefront().task_set.ids(split):
        family = task.rpartition("/")[0]
        count[family] = count.get(family, 0) + 1
        if count[family] <= each:
            found.append(task)
    return found


def honest_episodes(tasks: Sequence[str]) -> Iterator[Episode]:
    """Every honest agent's episode of each task."""
    for task in tasks:
        env, noisy, generic = storefront(), storefront("noise"), storefront("generic")
        yield rollout(env, oracle(env.oracle), name="oracle", seed=0, task=task)
        for other in env.instance.alternatives:
            alternative = ScriptedAgent(lambda calls=other: [as_action(call) for call in calls])  # type: ignore[misc]
            yield rollout(env, alternative, name="alternatives", seed=0, task=task)
        yield rollout(env, AlwaysRefuse(ToolRoles(env).refusals), name="always-refuse", seed=0, task=task)
        yield rollout(env, TemplateAgent(env), name="template", seed=0, task=task)
        patient: Agent = PatientAgent(oracle(noisy.oracle))
        yield rollout(noisy, patient, name="patient", seed=0, task=task)
        yield rollout(generic, oracle(generic.oracle), name="generic oracle", seed=0, task=task)


class TemplateAgent:
    """Plays the script of patterns as an agent."""

    def __init__(self, env: ToolEnv) -> None:
        self._env = env

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        """A new episode begins."""
        del tools, seed
        self._script: WorldScript | None = None

    def act(self, messages: Sequence[Message]) -> Action:
        """The script's next turn; the end where it has none."""
        try:
            if self._script is None:
                self._script = play_script(self._env.instance)
                turn = next(self._script)
            else:
                turn = self._script.send(tuple(messages))
        except StopIteration:
            return {"tool": "finish", "arguments": {}}
        return [{"tool": call.tool, "arguments": dict(call.arguments)} for call in turn]
