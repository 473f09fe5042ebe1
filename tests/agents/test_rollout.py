"""One agent, one episode: what the agent sees, what is kept, and what happens when the world fails."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import gymnasium as gym
import pytest

from palaestra.agents import JunkText, LegalRandom, SchemaRandom, ScriptedAgent, finish_at_once, no_op, oracle, rollout
from palaestra.agents.rollout import agent_seed
from palaestra.envs import ToolEnv
from palaestra.errors import ActionError, InfrastructureError
from palaestra.protocols import Action, Agent
from palaestra.records import LAYERS, EndReason, JsonSchema, Message
from palaestra.trajectory import dump_episode, read_episodes, write_episodes
from worlds.registration import LIBRARY_ID

STOREFRONT_ID = "palaestra/Storefront-v0"
TASKS = {LIBRARY_ID: "library/renew-loan/0000", STOREFRONT_ID: "storefront/refund-damaged-item/0003"}


def make(env_id: str, **kwargs: Any) -> ToolEnv:
    env = gym.make(env_id, **kwargs).unwrapped
    assert isinstance(env, ToolEnv)
    return env


@pytest.fixture(params=list(TASKS), ids=["library", "storefront"])
def env(request: pytest.FixtureRequest) -> ToolEnv:
    return make(request.param, task=TASKS[request.param])


class Witness:
    """Passes what another agent says on, and keeps what it was given."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.resets: list[tuple[Sequence[JsonSchema], int]] = []
        self.seen: list[Sequence[Message]] = []

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        self.resets.append((tools, seed))
        self.agent.reset(tools, seed=seed)

    def act(self, messages: Sequence[Message]) -> Action:
        self.seen.append(messages)
        return self.agent.act(messages)


class Failing(ToolEnv):
    """A world that fails at a given turn."""

    fails_at = 2

    def step(self, action: Action) -> tuple[tuple[Message, ...], float, bool, bool, dict[str, Any]]:
        if self.episode.turn == self.fails_at:
            raise InfrastructureError("the disk is gone")
        return super().step(action)


def agents(env: ToolEnv) -> Iterator[tuple[str, Agent]]:
    yield "oracle", oracle(env.oracle)
    yield "no-op", no_op()
    yield "finish", finish_at_once()
    yield "junk", JunkText()
    yield "legal", LegalRandom(env.legal_actions)


def test_the_return_is_the_score_for_every_agent(env: ToolEnv) -> None:
    for name, agent in agents(env):
        for seed in range(3):
            episode = rollout(env, agent, name=name, seed=seed)
            assert episode.episode_return == episode.score.points == sum(episode.score.components.values())
            for layer in LAYERS:
                assert sum(turn.components[layer] for turn in episode.turns) == episode.score.components[layer]
            assert episode.valid_for_baseline


def test_the_oracle_passes_and_no_idle_agent_does(env: ToolEnv) -> None:
    passed = {name: rollout(env, agent, name=name, seed=0).score.passed for name, agent in agents(env)}
    assert passed.pop("oracle")
    assert not any(passed[name] for name in ("no-op", "finish", "junk"))


def test_an_agents_own_seed_is_of_its_name_the_episodes_seed_and_the_task() -> None:
    env = make(STOREFRONT_ID)
    agent = Witness(finish_at_once())
    episodes = [("a", 3, 0), ("a", 3, 1), ("a", 4, 0), ("b", 3, 0), ("a", 3, 0)]
    tasks = env.task_set.ids("train")[:2]
    for name, seed, task in episodes:
        rollout(env, agent, name=name, seed=seed, task=tasks[task])
    seeds = [seed for _, seed in agent.resets]
    assert len(set(seeds)) == 4
    assert seeds[4] == seeds[0]
    assert not {3, 4} & set(seeds)


def stochastic(env: ToolEnv) -> dict[str, Agent]:
    return {
        "legal-random": LegalRandom(env.legal_actions),
        "schema-random": SchemaRandom(env.action_space.sample, env.action_space.seed),
        "junk": JunkText(),
    }


@pytest.mark.parametrize("name", ["legal-random", "schema-random", "junk"])
def test_a_stochastic_agent_does_not_repeat_its_choices_on_every_task(name: str) -> None:
    env = make(STOREFRONT_ID)
    tasks = env.task_set.ids("train")[:3]

    def chosen(task: str, seed: int) -> tuple[str, ...]:
        """Which tools it calls, or what it writes, for ten turns: arguments name records, which differ by world."""
        turns = list(rollout(env, stochastic(env)[name], name=name, seed=seed, task=task).turns)[:10]
        return tuple(turn.text or " ".join(call.tool for call in turn.calls) for turn in turns)

    assert len({chosen(task, 0) for task in tasks}) == 3
    assert chosen(tasks[0], 0) != chosen(tasks[0], 1)
    assert chosen(tasks[0], 0) == chosen(tasks[0], 0)


def test_an_outcome_reward_pays_the_same_at_the_end() -> None:
    task = TASKS[STOREFRONT_ID]
    calls = make_oracle(task)
    dense, late = (
        rollout(make(STOREFRONT_ID, task=task, reward=reward), oracle(lambda: calls), name="oracle", seed=0)
        for reward in ("checklist", "outcome")
    )
    assert late.episode_return == dense.episode_return == 100
    assert [turn.reward for turn in late.turns][:-1] == [0] * (len(calls) - 1)


def make_oracle(task: str) -> Sequence[Any]:
    env = make(STOREFRONT_ID)
    env.reset(options={"task": task})
    return env.oracle()


def test_an_episode_keeps_what_happened(env: ToolEnv) -> None:
    episode = rollout(env, oracle(env.oracle), name="the oracle", seed=5)
    [segment] = episode.segments
    assert (episode.agent, episode.seed, episode.task) == ("the oracle", 5, env.task)
    assert episode.env_id in TASKS
    assert episode.end is EndReason.FINISHED
    assert [call for turn in episode.turns for call in turn.calls] == list(env.oracle())
    assert [event for turn in episode.turns for event in turn.events] == list(env.events)
    assert segment.prompt == env.instance.messages
    assert segment.turns[-1].state_hash == env.state_hash()
    assert segment.turns[-1].anchor == env.anchor()
    assert [change["key"] for turn in episode.turns for change in turn.changes] == [c.key for c in env.journal]
    assert episode.score == env.score()


def test_rollouts_repeat_bit_by_bit(env: ToolEnv) -> None:
    for name, agent in agents(env):
        first, second = (rollout(env, agent, name=name, seed=3) for _ in range(2))
        elsewhere = rollout(make(env.env_id), agent, name=name, seed=3, task=env.task.id) if name == "junk" else first
        assert first.digest() == second.digest() == elsewhere.digest()
        assert dump_episode(first) == dump_episode(second)


def test_a_digest_tells_episodes_apart(env: ToolEnv) -> None:
    digests = [rollout(env, JunkText(), name="junk", seed=seed).digest() for seed in range(6)]
    assert len(set(digests)) > 1
    assert rollout(env, oracle(env.oracle), name="oracle", seed=0).digest() not in digests


def test_episodes_are_read_back_as_they_were_written(env: ToolEnv, tmp_path: Any) -> None:
    episodes = [rollout(env, agent, name=name, seed=1) for name, agent in agents(env)]
    path = tmp_path / "episodes.jsonl"
    assert write_episodes(path, episodes) == len(episodes)
    back = list(read_episodes(path))
    assert back == episodes
    assert [e.digest() for e in back] == [e.digest() for e in episodes]


# What the agent is given


def test_an_agent_is_given_tools_messages_and_a_seed_and_nothing_else(env: ToolEnv) -> None:
    witness = Witness(oracle(env.oracle))
    episode = rollout(env, witness, name="witness", seed=9)
    [(tools, seed)] = witness.resets
    assert seed == agent_seed("witness", 9, episode.task.id)
    assert tools == episode.tools
    assert all(set(tool) == {"type", "function"} for tool in tools)
    turns = list(episode.turns)
    assert witness.seen == [episode.segments[0].prompt, *(turn.observation for turn in turns[:-1])]
    for message in (m for messages in witness.seen for m in messages):
        assert set(message) <= {"role", "content", "name", "tool_call_id"}
        assert all(isinstance(value, str) for value in message.values())


def test_nothing_that_an_agent_sees_tells_it_the_score(env: ToolEnv) -> None:
    witness = Witness(oracle(env.oracle))
    episode = rollout(env, witness, name="witness", seed=0)
    text = " ".join(m["content"] for messages in witness.seen for m in messages) + repr(witness.resets)
    assert not [c.text for c in episode.rubric if c.text in text]
    assert not [word for word in ("rubric", "criterion", "points", "oracle", "collateral") if word in text]


def test_an_agent_that_spoils_what_it_is_given_spoils_no_record(env: ToolEnv) -> None:
    class Spoiler(Witness):
        def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
            super().reset(tools, seed=seed)
            for tool in tools:
                tool["function"].clear()

        def act(self, messages: Sequence[Message]) -> Action:
            for message in messages:
                message["content"] = "spoilt"
            return super().act(messages)

    plain = rollout(env, oracle(env.oracle), name="agent", seed=0)
    spoilt = rollout(env, Spoiler(oracle(env.oracle)), name="agent", seed=0)
    assert spoilt == plain
    assert rollout(env, oracle(env.oracle), name="agent", seed=0) == plain


# When the world fails


def failing(turn: int) -> Failing:
    env = Failing(STOREFRONT_ID, task=TASKS[STOREFRONT_ID])
    env.fails_at = turn
    return env


@pytest.mark.parametrize("turn", [0, 1, 4])
def test_a_failed_world_ends_the_episode_and_pays_nothing(turn: int) -> None:
    env = failing(turn)
    episode = rollout(env, oracle(env.oracle), name="oracle", seed=0)
    assert not episode.valid_for_baseline
    assert episode.end is None
    assert len(list(episode.turns)) == turn
    assert (episode.score.passed, episode.score.points, episode.score.total) == (False, 0, 100)
    assert episode.score.verdicts == {}


def test_a_failure_costs_no_reward_that_was_earned_and_invents_none() -> None:
    whole = rollout(failing(99), oracle(lambda: make_oracle(TASKS[STOREFRONT_ID])), name="oracle", seed=0)
    broken = rollout(failing(4), oracle(lambda: make_oracle(TASKS[STOREFRONT_ID])), name="oracle", seed=0)
    assert list(broken.turns) == list(whole.turns)[:4]
    assert broken.episode_return == sum(turn.reward for turn in list(whole.turns)[:4])


def test_an_agents_own_mistake_is_not_the_worlds() -> None:
    env = make(LIBRARY_ID, task=TASKS[LIBRARY_ID])
    with pytest.raises(ActionError):
        rollout(env, ScriptedAgent(lambda: [7]), name="broken", seed=0)  # type: ignore[list-item]


def test_an_error_of_the_agent_is_not_swallowed() -> None:
    class Broken(Witness):
        def act(self, messages: Sequence[Message]) -> Action:
            raise KeyError("policy")

    with pytest.raises(KeyError, match="policy"):
        rollout(make(LIBRARY_ID), Broken(no_op()), name="broken", seed=0)


# Ends


@pytest.mark.parametrize(
    ("agent", "end"),
    [
        (finish_at_once(), EndReason.FINISHED),
        (ScriptedAgent(lambda: [{"tool": "give_up", "arguments": {"reason": "no"}}]), EndReason.GAVE_UP),
        (no_op(), EndReason.UNPARSABLE),
        (ScriptedAgent(lambda: ["Hello"] * 99), EndReason.MAX_TURNS),
    ],
    ids=["finished", "gave up", "unparsable", "max turns"],
)
def test_an_episode_keeps_why_it_ended(env: ToolEnv, agent: Agent, end: EndReason) -> None:
    episode = rollout(env, agent, name="agent", seed=0)
    assert episode.end is end
    assert episode.valid_for_baseline


def test_a_seed_draws_the_task_where_none_is_named() -> None:
    env = make(STOREFRONT_ID, split="dev")
    drawn = [rollout(env, finish_at_once(), name="agent", seed=seed).task for seed in range(5)]
    assert {task.split for task in drawn} == {"dev"}
    assert len({task.id for task in drawn}) > 1


def test_raw_text_is_kept_beside_the_calls_that_were_read_in_it() -> None:
    text = '<tool_call>{"name": "get_loan", "arguments": {"loan_id": "LN-1"}}</tool_call>'
    episode = rollout(make(LIBRARY_ID), ScriptedAgent(lambda: [text]), name="writer", seed=0)
    first, *_ = episode.turns
    assert first.text == text
    assert [(call.tool, dict(call.arguments)) for call in first.calls] == [("get_loan", {"loan_id": "LN-1"})]


def test_what_no_file_can_hold_is_kept_readable() -> None:
    script: list[Action] = ["\ud800", {"tool": "\ud800", "arguments": {"a": "\ud800", "b": 10**30}}]
    episode = rollout(make(LIBRARY_ID), ScriptedAgent(lambda: script), name="writer", seed=0)
    said, called, *_ = episode.turns
    assert said.text == "?"
    assert called.calls[0].tool == "?"
    assert list(called.calls[0].arguments) == ["unreadable"]
    assert dump_episode(episode)


def test_extra_options_of_the_world_do_not_reach_the_agent() -> None:
    seen: list[Mapping[str, Any]] = []

    class Curious(Witness):
        def reset(self, tools: Sequence[JsonSchema], *, seed: int, **more: Any) -> None:
            seen.append(more)
            super().reset(tools, seed=seed)

    rollout(make(LIBRARY_ID), Curious(no_op()), name="curious", seed=0)
    assert seen == [{}]
