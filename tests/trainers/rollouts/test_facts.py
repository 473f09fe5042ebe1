"""A rollout in a format with facts: what the policy reads follows from messages alone, and the episode replays."""

import re
from datetime import date
from typing import Any

import gymnasium as gym
import orjson
import pytest

from palaestra.envs import ToolEnv
from palaestra.records import Message
from palaestra.tools import CHAT_FORMATS
from palaestra.trainers.data.demonstration import render_episode
from palaestra.trajectory import Episode, dump_episode
from palaestra.transcript import transcript_of
from rollouts.library import codec, shown
from rollouts.playing import played
from test_transcript import leaks, names_that_judge
from worlds.registration import LIBRARY_ID

FORMS = ("qwen-facts", "smollm2-facts")
HEADING = "Facts about these values:"
RENEWAL = "library/renew-loan"


def read_by(episode: Episode, form: str) -> str:
    """All that the policy has read and written, from the tokens of the rollout."""
    (segment,) = episode.segments
    assert segment.tokens is not None
    return "".join(codec(form).decode(segment.tokens.ids))


def answers(episode: Episode) -> list[Message]:
    return [message for turn in episode.turns for message in turn.observation if message["role"] == "tool"]


@pytest.mark.parametrize("form", FORMS)
def test_the_policy_reads_the_distance_of_each_day_of_a_loan(form: str) -> None:
    renewals = [episode for n in range(len(shown())) if (episode := played(form, n)).task.family == RENEWAL]
    assert renewals
    for episode in renewals:
        text = read_by(episode, form)
        briefing = str(episode.segments[0].prompt[0]["content"])
        found = re.search(r"\d{4}-\d\d-\d\d", briefing)
        assert found is not None
        loan: Any = orjson.loads(str(answers(episode)[0]["content"]))
        for name in ("lent_at", "due"):
            days = (date.fromisoformat(loan[name][:10]) - date.fromisoformat(found[0])).days
            count = f"{abs(days)} day" + "s" * (abs(days) != 1)
            distance = "today" if days == 0 else f"in {count}" if days > 0 else f"{count} ago"
            assert f"\n- {name} {loan[name]}: {distance}" in text


@pytest.mark.parametrize("form", FORMS)
def test_what_the_policy_reads_follows_from_its_transcript_and_names_nothing_that_judges_it(form: str) -> None:
    for place in range(len(shown())):
        episode = played(form, place)
        text = read_by(episode, form)
        assert HEADING in text
        assert text == "".join(render_episode(transcript_of(episode), CHAT_FORMATS.get(form)))
        assert leaks([text], names_that_judge(episode)) == []


@pytest.mark.parametrize("form", FORMS)
def test_a_rollout_with_facts_is_solved_and_replays_from_its_texts(form: str) -> None:
    env = gym.make(LIBRARY_ID, action_format=form).unwrapped
    assert isinstance(env, ToolEnv)
    for place in range(len(shown())):
        episode = played(form, place)
        assert episode.score.passed
        env.reset(seed=episode.seed, options={"task": episode.task.id})
        for turn in episode.turns:
            assert turn.text is not None
            observation, reward, _, _, info = env.step(turn.text)
            assert (observation, reward, info["anchor"]) == (turn.observation, turn.reward, turn.anchor)
        assert env.score() == episode.score


@pytest.mark.parametrize("form", FORMS)
def test_facts_are_no_part_of_the_episode_that_is_saved(form: str) -> None:
    assert HEADING.encode() not in dump_episode(played(form, 0))
