"""Search finds what exact values point to, looks no further than it may, and never sees a point."""

from collections.abc import Sequence
from math import sqrt
from typing import Any

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.agents import rollout
from palaestra.agents.search import (
    AgentProposer,
    Branch,
    ChatValue,
    LegalProposer,
    RequestCoverage,
    SearchConfig,
    SearchTree,
    TreeSearchAgent,
)
from palaestra.agents.search.tree import Backup
from palaestra.envs import ToolEnv
from palaestra.protocols import Action
from palaestra.records import JsonSchema, Message
from palaestra.seeding import Stream
from worlds.registration import LIBRARY_ID

Place = tuple[int, ...]


def tree_of(values: dict[Place, float], *, width: int, depth: int, **config: Any) -> SearchTree[Place, int]:
    """A tree whose places are paths; places without a value of their own are worth 0.5 until they are looked into."""
    return SearchTree(
        (),
        propose=lambda place: range(width) if len(place) < depth else (),
        advance=lambda place, action: ((*place, action), len(place) + 1 == depth),
        evaluate=lambda place: values.get(place, 0.5),
        config=SearchConfig(width=width, depth=depth, **config),
    )


def two_plies(backup: Backup) -> SearchTree[Place, int]:
    """One leaf among ten wins, below the first action; below the second all are fair."""
    values: dict[Place, float] = {(0, leaf): float(leaf == 4) for leaf in range(5)}
    values |= {(1, leaf): 0.45 for leaf in range(5)}
    tree: SearchTree[Place, int] = SearchTree(
        (),
        propose=lambda place: range(5 if place else 2) if len(place) < 2 else (),
        advance=lambda place, action: ((*place, action), len(place) == 1),
        evaluate=lambda place: values.get(place, 0.5),
        config=SearchConfig(simulations=100, width=5, depth=2, backup=backup),
    )
    tree.search()
    return tree


def test_the_largest_value_finds_the_one_leaf_that_wins_and_a_mean_does_not() -> None:
    best = two_plies("max")
    assert best.best() == 0
    assert best.root.value == 1.0
    mean = two_plies("mean")
    assert mean.best() == 1
    assert mean.root.value < 0.5


@given(
    width=st.integers(1, 3), depth=st.integers(1, 3), numbers=st.lists(st.integers(0, 100), min_size=40, max_size=40)
)
def test_a_searched_out_tree_has_the_value_of_its_best_leaf(width: int, depth: int, numbers: list[int]) -> None:
    leaves = [tuple(place) for place in _places(width, depth) if len(place) == depth]
    values = {leaf: numbers[number] / 100 for number, leaf in enumerate(leaves)}
    tree = tree_of(values, width=width, depth=depth, simulations=1_000)
    tree.search()
    assert tree.root.value == max(values.values())
    first = tree.best()
    assert first is not None
    assert max(value for leaf, value in values.items() if leaf[0] == first) == tree.root.value
    assert tree.root.visits == 1 + sum(width**level for level in range(1, depth + 1))


def _places(width: int, depth: int) -> list[list[int]]:
    places: list[list[int]] = [[]]
    for place in places:
        if len(place) < depth:
            places += [[*place, action] for action in range(width)]
    return places


def test_each_simulation_adds_one_leaf_within_width_and_depth() -> None:
    tree = tree_of({}, width=3, depth=4, simulations=7)
    tree.search()
    assert tree.root.visits == 8
    reached = list(_below(tree))
    assert len(reached) == 7
    assert max(map(len, reached)) <= 4


def _below(tree: SearchTree[Place, int]) -> list[Place]:
    nodes, found = [tree.root], list[Place]()
    for node in nodes:
        nodes += [child for _, child in node.children]
        found += [child.state for _, child in node.children]
    return found


def test_what_was_found_below_the_taken_action_is_kept() -> None:
    tree = tree_of({(1, 0, 1): 0.9}, width=2, depth=3, simulations=20)
    tree.search()
    known = len(_below(tree))
    assert tree.best() == 1
    assert tree.descend(1)
    assert tree.root.state == (1,)
    assert 0 < len(_below(tree)) < known
    assert not tree.descend(7)


def test_the_first_of_equals_is_taken_and_nothing_where_nothing_is_proposed() -> None:
    tree = tree_of({}, width=3, depth=1, simulations=3)
    tree.search()
    assert tree.best() == 0
    nothing = tree_of({}, width=3, depth=1)
    nothing.root.untried = []
    nothing.search()
    assert nothing.best() is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"simulations": 0}, "simulations=0: a search needs at least 1"),
        ({"width": 0}, "width=0"),
        ({"depth": -1}, "depth=-1"),
        ({"exploration": -sqrt(2)}, "it is 0"),
    ],
)
def test_settings_without_an_effect_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        SearchConfig(**given)


def test_a_value_outside_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a state was valued at 1\.5"):
        tree_of({(): 1.5}, width=1, depth=1)


# in a world


def world_at(task: str, **switches: Any) -> tuple[gym.Env[Any, Any], ToolEnv]:
    env = gym.make(LIBRARY_ID, **switches)
    env.reset(seed=0, options={"task": task})
    world = env.unwrapped
    assert isinstance(world, ToolEnv)
    return env, world


def first_task() -> str:
    world = gym.make(LIBRARY_ID).unwrapped
    assert isinstance(world, ToolEnv)
    return world.task_set.ids("train")[0]


class Follower:
    """Values a branch by how much of the oracle's calls were made in it, and keeps what it was given."""

    def __init__(self, plan: Sequence[Action]) -> None:
        self.plan = [str(one) for one in plan]
        self.read: list[Sequence[Message]] = []

    def __call__(self, messages: Sequence[Message], *, seed: int) -> float:
        del seed
        self.read.append(messages)
        return min(1.0, sum(one["role"] == "tool" for one in messages) / (len(self.plan) + 1))


def test_a_search_with_an_exact_proposer_plays_the_solution_and_leaves_the_world_alone() -> None:
    task = first_task()
    env, world = world_at(task)
    plan: list[Action] = [{"tool": call.tool, "arguments": dict(call.arguments)} for call in world.oracle()]

    def propose(branch: Branch, count: int, stream: Stream) -> Sequence[Action]:
        del count, stream
        done = sum(one["role"] == "tool" for one in branch.messages)
        return plan[done : done + 1]

    value = Follower(plan)
    agent = TreeSearchAgent(lambda: world, propose=propose, value=value, config=SearchConfig(simulations=4, width=1))
    before = world.digest()
    agent.reset((), seed=0)
    assert agent.act(world.episode.observation) == plan[0]
    assert world.digest() == before
    episode = rollout(env, agent, name="search", seed=0, task=task)
    assert episode.score.passed
    assert [turn.calls for turn in episode.turns] == [(call,) for call in world.oracle()]


def test_a_branch_is_told_what_an_agent_in_it_would_be_told_and_no_points() -> None:
    task = first_task()
    _, world = world_at(task)
    value = Follower([])
    agent = TreeSearchAgent(
        lambda: world, propose=LegalProposer(), value=value, config=SearchConfig(simulations=6, width=3, depth=2)
    )
    agent.reset((), seed=3)
    agent.act(world.episode.observation)
    assert 4 <= len(value.read) <= 7
    assert any(one["role"] == "tool" for messages in value.read for one in messages)
    for messages in value.read:
        assert all(set(one) <= {"role", "content", "name", "tool_call_id", "images"} for one in messages)


def test_equal_seeds_search_alike_and_others_do_not() -> None:
    task = first_task()

    def played(seed: int) -> str:
        env, world = world_at(task)
        agent = TreeSearchAgent(
            lambda: world, propose=LegalProposer(), value=RequestCoverage(), config=SearchConfig(simulations=5, depth=2)
        )
        return rollout(env, agent, name="search", seed=seed, task=task).digest()

    assert played(1) == played(1)
    assert played(1) != played(2)


def test_an_agent_proposes_what_it_would_do_without_repetition() -> None:
    class Dice:
        def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
            assert tools == ({"name": "roll"},)
            self.seed = seed

        def act(self, messages: Sequence[Message]) -> Action:
            assert messages
            return {"tool": "roll", "arguments": {"side": self.seed % 2}}

    propose = AgentProposer(Dice, ({"name": "roll"},))
    _, world = world_at(first_task())
    branch = Branch(world.episode.observation, world)
    proposed = propose(branch, 16, Stream.root("dice"))
    assert sorted(str(one) for one in proposed) == [
        "{'tool': 'roll', 'arguments': {'side': 0}}",
        "{'tool': 'roll', 'arguments': {'side': 1}}",
    ]


# values


def test_coverage_is_the_share_of_the_request_that_tools_have_shown() -> None:
    asked: Message = {"role": "user", "content": "Cancel order ORD-7."}
    value = RequestCoverage()
    assert value([], seed=0) == 0
    assert value([asked], seed=0) == 0
    assert value([asked, {"role": "tool", "content": "ORD-7: an order"}], seed=0) == pytest.approx(2 / 3)
    assert value([asked, {"role": "assistant", "content": "cancel order ORD-7"}], seed=0) == 0


class Judge:
    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.asked: list[Message] = []

    def complete(self, messages: Sequence[Message], *, seed: int) -> str:
        assert seed == 5
        self.asked = list(messages)
        return self.answer


def test_a_model_values_the_end_of_the_transcript() -> None:
    judge = Judge("I would say 7.5 of 10")
    messages: list[Message] = [{"role": "user", "content": "x" * 50}, {"role": "tool", "name": "look", "content": "y"}]
    assert ChatValue(judge, most=12)(messages, seed=5) == 0.75
    assert judge.asked[-1]["content"] == "xxx\n[look] y"


@pytest.mark.parametrize("answer", ["", "promising", "11", "100"])
def test_a_model_that_gives_no_score_is_refused(answer: str) -> None:
    with pytest.raises(ValueError, match="a branch was valued at"):
        ChatValue(Judge(answer))([{"role": "user", "content": "?"}], seed=5)
