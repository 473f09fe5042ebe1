"""A judge is asked about every turn, over real sockets; what it says otherwise is asked again, and then an error."""

import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chatserver import Answer, Asked, chat, chat_server
from palaestra.errors import ConfigError, InfrastructureError
from palaestra.trainers.data.flatten import flatten
from palaestra.trainers.fillers import ChatModelConfig, FillerInput, JudgeLabels, JudgeScores, read_judgements
from rollouts.library import codec
from rollouts.playing import played

EPISODES = tuple(replace(played("compact", place), group="g") for place in (0, 1, 5))
GIVEN = FillerInput(batch=flatten(EPISODES), episodes=EPISODES, seed=7, codec=codec("compact"))
COUNTS = [len(list(episode.turns)) for episode in EPISODES]


def answering(word: Callable[[int, int], str]) -> Callable[[Asked], Answer]:
    """Judges turn `n` of so many by a word."""

    def behave(asked: Asked) -> Answer:
        turns = turns_in(asked)
        return chat("\n".join(f"{n}: {word(n, turns)}" for n in range(1, turns + 1)))

    return behave


def turns_in(asked: Asked) -> int:
    found = re.search(r"There are (\d+) turns", asked.body["messages"][-1]["content"])
    assert found
    return int(found[1])


def model(url: str, **options: Any) -> ChatModelConfig:
    return ChatModelConfig(name="judge", base_url=url, options=options)


def test_each_turn_has_the_label_that_the_judge_gave_it() -> None:
    with chat_server(behaviour=answering(lambda n, turns: "good" if n == turns else "BAD")) as server:
        label_U = JudgeLabels(model=model(server.url, temperature=0))(GIVEN)
    assert label_U.tolist() == [float(n == count - 1) for count in COUNTS for n in range(count)]
    assert [asked.body["temperature"] for asked in server.asked] == [0] * len(EPISODES)


def test_a_score_is_the_mean_over_turns_and_the_judge_is_not_told_the_outcome() -> None:
    with chat_server(behaviour=answering(lambda n, _: str(n))) as server:
        score_R = JudgeScores(model=model(server.url), concurrency=2)(GIVEN)
    assert score_R.tolist() == pytest.approx([sum(range(1, count + 1)) / count / 10 for count in COUNTS])
    assert not any("Outcome" in asked.body["messages"][1]["content"] for asked in server.asked)


def test_the_judge_reads_what_the_agent_saw_and_did_and_whether_it_came_off() -> None:
    with chat_server(behaviour=answering(lambda n, turns: "GOOD")) as server:
        JudgeLabels(model=model(server.url), concurrency=1, characters=40)(GIVEN)
    assert len({asked.body["seed"] for asked in server.asked}) == len(EPISODES)
    for asked, episode in zip(server.asked, EPISODES, strict=True):
        shown = asked.body["messages"][1]["content"]
        assert "Outcome: the task was solved." in shown
        for number, turn in enumerate(episode.turns, 1):
            assert f"Turn {number}: {(turn.text or '')[:40]}" in shown
            assert all(message["content"][:40] in shown for message in turn.observation)
        hidden = (episode.task.id, episode.task.family, *(spec.text for spec in episode.rubric))
        assert not any(secret in shown for secret in hidden)


def test_what_is_no_judgement_is_asked_again_with_another_seed_and_then_is_an_error() -> None:
    first = tuple(EPISODES[:1])
    given = replace(GIVEN, batch=flatten(first), episodes=first)
    good = chat("\n".join(f"{n}: GOOD" for n in range(1, COUNTS[0] + 1)))
    with chat_server(chat("I like it."), chat("1: GOOD"), good) as server:
        assert JudgeLabels(model=model(server.url))(given).tolist() == [1.0] * COUNTS[0]
    assert len({asked.body["seed"] for asked in server.asked}) == 3
    with (
        chat_server(chat("1: FINE")) as server,
        pytest.raises(InfrastructureError, match=r"the judge judge failed 2 times at .*'FINE'; a label is GOOD or BAD"),
    ):
        JudgeLabels(model=model(server.url), tries=2)(given)


@pytest.mark.parametrize("score", ["NaN", "inf", "-1", "11", "7.5"])
def test_a_score_that_is_no_whole_number_from_0_to_10_is_an_error_and_no_column(score: str) -> None:
    first = tuple(EPISODES[:1])
    given = replace(GIVEN, batch=flatten(first), episodes=first)
    text = "\n".join(f"{n}: {score if n == COUNTS[0] else 5}" for n in range(1, COUNTS[0] + 1))
    with (
        chat_server(chat(text)) as server,
        pytest.raises(InfrastructureError, match=f"failed 2 times .*'{score}'; a score is a whole number from 0 to 10"),
    ):
        JudgeScores(model=model(server.url), tries=2)(given)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1: a\n2 b", "wrote '2 b'; a line is `NUMBER: WORD`"),
        ("1: a\n1: b", "of turn 1; each of 2 turns has one line"),
        ("1: a\n3: b", "of turn 3; each of 2"),
        ("2: a", "nothing of turn 1"),
        ("", "nothing of turn 1"),
    ],
)
def test_judgements_are_read_strictly(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        read_judgements(text, 2, lambda _: 0.0)


def test_judgements_may_come_in_any_order_and_with_blank_lines() -> None:
    assert read_judgements("2. b\n\n 1) a ", 2, {"a": 1.0, "b": 2.0}.__getitem__) == [1.0, 2.0]


def test_a_model_of_ones_own_is_made_by_the_place_of_its_function() -> None:
    with ChatModelConfig(name="collections:OrderedDict").open() as made:
        assert isinstance(made, OrderedDict)
    with (
        pytest.raises(ConfigError, match=r"model.name: 'no_such:thing' cannot be loaded"),
        ChatModelConfig(name="no_such:thing").open(),
    ):
        pass
