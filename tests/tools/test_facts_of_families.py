"""Facts behind the answers of the storefront: the solution of one task of each family, played in `qwen-facts`."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import gymnasium as gym
import orjson

from palaestra.agents import oracle, rollout
from palaestra.tools import CHAT_FORMATS
from palaestra.tools.formats.with_facts import SUFFIX
from palaestra.transcript import AgentTranscript, transcript_of

FORM, PLAIN = CHAT_FORMATS.get(f"qwen{SUFFIX}"), CHAT_FORMATS.get("qwen")
FACTS = re.compile(r"\n\nFacts about these values:((?:\n- .*)+)")
SHOWN_VALUE = re.compile(r"\b[A-Z]{2,5}-\d{2,}\b|\b\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d)?\b|EUR [\d.,]*\d")
"""What a fact may name only where a message has shown it: an id, a day, a time, an amount."""


@cache
def transcripts() -> Mapping[str, AgentTranscript]:
    """By family: the solution of its first task."""
    env: Any = gym.make("palaestra/Storefront-v0").unwrapped
    ids = [task for split in ("train", "heldout") for task in env.task_set.ids(split)]
    first = {task.split("/")[1]: task for task in reversed(ids)}
    expert = oracle(env.oracle)
    return {
        family: transcript_of(rollout(env, expert, name="oracle", seed=0, task=task)) for family, task in first.items()
    }


def test_the_solution_of_every_family_reads_back_and_differs_from_the_plain_format_in_facts_alone() -> None:
    assert len(transcripts()) >= 90
    for family, transcript in transcripts().items():
        rendering, plain = FORM.rendering(), PLAIN.rendering()
        opening = rendering.opening(transcript.prompt, transcript.tools)
        assert opening == plain.opening(transcript.prompt, transcript.tools), family
        for turn in transcript.turns:
            written = rendering.write_turn(turn.calls)
            assert written == plain.write_turn(turn.calls), family
            assert FORM.parse(rendering.read(written)).calls == turn.calls, family
            following = "".join(rendering.following(turn.observation))
            assert FACTS.sub("", following) == "".join(plain.following(turn.observation)), family


def test_facts_name_ids_days_and_amounts_that_a_message_has_shown_and_no_others() -> None:
    with_facts = 0
    for family, transcript in transcripts().items():
        rendering = FORM.rendering()
        rendering.opening(transcript.prompt, transcript.tools)
        text = orjson.dumps(transcript.prompt).decode()
        facts: list[str] = []
        for turn in transcript.turns:
            text += orjson.dumps(turn.observation).decode()
            facts += (lines := FACTS.findall("".join(rendering.following(turn.observation))))
            values = {value for line in lines for value in SHOWN_VALUE.findall(line)}
            assert {value for value in values if value not in text} == set(), family
        with_facts += bool(facts)
    assert with_facts > len(transcripts()) * 9 // 10
