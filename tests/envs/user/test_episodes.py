"""Dialogues played through the environment: every user of a task in every place that reads an episode."""

import pickle
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from palaestra.agents import ScriptedAgent, rollout
from palaestra.benchmarks.viewer import render_page
from palaestra.envs import ToolEnv, check_env
from palaestra.envs.check.subject import as_action, make
from palaestra.envs.user import LlmUser, LoggedUser, Persona, User
from palaestra.errors import InfrastructureError, UnknownNameError
from palaestra.records import EndReason, Message
from palaestra.tools import CHAT_FORMATS
from palaestra.trajectory import Episode, read_episodes, write_episodes

ENV = "palaestra/Storefront-v0"
WHICH = "storefront/talk-which-order/0000"
HURRY = "storefront/talk-in-a-hurry/0000"
SILENT = "storefront/cancel-order/0000"
FAMILIES = sorted(
    family for family in make(ENV).task_set.families if "dialogue" in make(ENV).task_set.families[family].traits
)


def begun(task: str = WHICH, **kwargs: Any) -> ToolEnv:
    env = make(ENV, task=task, **kwargs)
    env.reset(seed=0)
    return env


def say(env: ToolEnv, message: str, **fields: str) -> tuple[tuple[Message, ...], dict[str, Any]]:
    returned = env.step({"tool": "reply", "arguments": {"message": message, **fields}})
    return returned[0], returned[4]


def played(task: str, **kwargs: Any) -> Episode:
    env = begun(task, **kwargs)
    actions = [as_action(call) for call in env.oracle()]
    return rollout(make(ENV, **kwargs), ScriptedAgent(lambda: actions), name="oracle", seed=0, task=task)


def test_the_answer_follows_the_tools_and_its_ids_may_be_acted_on() -> None:
    env = begun()
    observation, info = say(env, "Which order do you mean?")
    assert [message["role"] for message in observation] == ["tool", "user"]
    (event,) = info["events"]
    assert event.acts == ("ask:order",)
    assert event.said == ("reveal:order",)
    told = next(word.strip(".,") for word in observation[1]["content"].split() if word.startswith("ORD-"))
    assert told in event.mentioned
    env.step({"tool": "cancel_order", "arguments": {"order_id": told}})
    assert "ungrounded" not in env.counting


def test_what_is_said_in_a_turn_of_several_calls_comes_after_their_answers() -> None:
    env = begun()
    turn = [
        {"tool": "reply", "arguments": {"message": "Which order is it?"}},
        {"tool": "search_handbook", "arguments": {"query": "cancel"}},
    ]
    assert [message["role"] for message in env.step(turn)[0]] == ["tool", "tool", "user"]


def test_a_task_without_a_user_is_answered_by_nobody() -> None:
    env = begun(SILENT)
    observation, info = say(env, "Which order do you mean?")
    assert [message["role"] for message in observation] == ["tool"]
    assert (info["events"][0].acts, info["events"][0].said, info["user"]) == ((), (), None)


def test_a_refused_message_is_heard_by_nobody() -> None:
    observation, info = say(begun(), "")
    assert [message["role"] for message in observation] == ["tool"]
    assert info["user"].heard == ()


def test_a_user_who_leaves_ends_the_episode_and_the_turn() -> None:
    env = begun(HURRY)
    question = {"tool": "reply", "arguments": {"message": "Which product is it?", "act": "ask", "about": "product"}}
    read = {"tool": "search_handbook", "arguments": {"query": "damaged"}}
    env.step([question, read])
    assert env.end is None
    info = env.step([question, read])[4]
    assert env.end is EndReason.USER_LEFT
    assert [event.tool for event in info["events"]] == ["reply"]
    assert (info["user"].fault, info["user"].blame) == ("left", "agent")
    assert not env.score().passed


def test_a_fork_talks_on_alone() -> None:
    env = begun()
    say(env, "Which order do you mean?")
    digest, fork = env.digest(), env.fork()
    assert fork.digest() == digest
    answer, _ = say(fork, "Which order do you mean?")
    assert env.digest() == digest, "what a fork hears does not reach its origin"
    assert fork.digest() != digest
    assert say(env, "Which order do you mean?")[0] == answer


def test_a_snapshot_holds_the_talk() -> None:
    env = begun()
    say(env, "Which order do you mean?")
    snapshot = pickle.loads(pickle.dumps(env.snapshot()))
    other = make(ENV)
    other.reset(seed=9)
    other.restore(snapshot)
    assert other.digest() == env.digest()
    assert say(other, "Which order?") == say(env, "Which order?")


def test_only_the_talk_tells_two_episodes_apart() -> None:
    patient, pressed = begun(), begun()
    for env, acts in ((patient, ("ask", "inform")), (pressed, ("inform", "ask"))):
        for act in acts:
            say(env, "x", act=act, about="order")
    assert patient.state_hash() == pressed.state_hash()
    assert patient.digest() != pressed.digest()


@pytest.mark.parametrize("task", [HURRY, "storefront/talk-hold-the-line-twin/0003"])
@pytest.mark.usefixtures("light_collections")
def test_an_environment_with_a_user_passes_the_check_of_environments(task: str) -> None:
    check_env(make(ENV, task=task), steps=12, seeds=(0,))


def test_there_are_eight_dialogue_families_with_a_twin_each() -> None:
    assert len(FAMILIES) == 16
    assert [f"{family}-twin" in FAMILIES for family in FAMILIES if not family.endswith("-twin")] == [True] * 8


@pytest.mark.parametrize("family", FAMILIES)
def test_an_oracle_talks_its_way_to_every_point_and_irritates_nobody(family: str) -> None:
    for index in (7000, 7001, 7002):
        env = begun(f"{family}/{index}")
        for call in env.oracle():
            env.step(as_action(call))
        assert (env.score().passed, env.score().points) == (True, 100)
        talk = env.episode.conversation
        assert talk is not None
        assert (talk.report.irritations, talk.report.fault) == ((), None)


def test_the_same_seed_talks_alike_in_another_process() -> None:
    here = played(WHICH).digest()
    code = (
        "from palaestra.agents import ScriptedAgent, rollout\n"
        "from palaestra.envs.check.subject import as_action, make\n"
        f"env = make({ENV!r}, task={WHICH!r}); env.reset(seed=0)\n"
        "actions = [as_action(call) for call in env.oracle()]\n"
        f"episode = rollout(make({ENV!r}), ScriptedAgent(lambda: actions), name='oracle', seed=0, task={WHICH!r})\n"
        "print(episode.digest())\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [here]


def test_seeds_word_the_same_talk_differently() -> None:
    texts = set[str]()
    for seed in range(12):
        env = make(ENV, task=WHICH)
        env.reset(seed=seed)
        observation, info = say(env, "Which order do you mean?")
        assert info["events"][0].said == ("reveal:order",)
        texts.add(observation[-1]["content"])
    assert len(texts) > 1


def test_a_dialogue_is_saved_read_shown_and_rendered(tmp_path: Path) -> None:
    episode = played(WHICH)
    spoken = [m["content"] for turn in episode.turns for m in turn.observation if m["role"] == "user"]
    assert episode.score.passed
    assert spoken
    write_episodes(tmp_path / "talk.jsonl", [episode])
    (again,) = read_episodes(tmp_path / "talk.jsonl")
    assert again == episode
    assert spoken[0][:20] in render_page([again], title="Talks")
    for name in sorted(CHAT_FORMATS):
        rendering = CHAT_FORMATS.get(name).rendering()
        pieces = rendering.opening(episode.segments[0].prompt, episode.tools)
        for turn in episode.turns:
            pieces += [*rendering.write_turn(turn.calls), *rendering.following(turn.observation)]
        product = spoken[0].rstrip(".").rpartition(" ")[2]
        assert product in rendering.read(pieces), name


# Other users


class Parrot:
    """A model that says what it is told to."""

    def complete(self, messages: Sequence[Message], *, seed: int) -> str:
        del seed
        return messages[-1]["content"].rpartition("): ")[2]


class Mute:
    """A model that is down."""

    def complete(self, messages: Sequence[Message], *, seed: int) -> str:
        raise TimeoutError


def worded(persona: Persona, *, model: type[Parrot] | type[Mute]) -> User:
    return LlmUser(persona, model())


def test_a_model_may_be_the_user_and_the_log_replays_without_it() -> None:
    recorded = played(WHICH, user=partial(worded, model=Parrot))
    assert recorded.score.passed
    replayed = played(WHICH, user=partial(LoggedUser.of, episode=recorded))
    assert replayed.digest() == recorded.digest()


def test_a_model_that_fails_voids_the_episode() -> None:
    episode = played(WHICH, user=partial(worded, model=Mute))
    assert not episode.valid_for_baseline
    assert episode.score.points == 0
    env = begun(user=partial(worded, model=Mute))
    with pytest.raises(InfrastructureError, match="model"):
        say(env, "Which order do you mean?")


def test_an_unknown_user_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown user 'robot'"):
        make(ENV, user="robot")
