"""The likelihood of the reference answer, against a loop over whole sequences. Axes: U turns, R trajectories."""

from dataclasses import replace
from functools import cache
from typing import Literal

import pytest
import torch

from palaestra.errors import RecordError
from palaestra.trainers.data.flatten import flatten
from palaestra.trainers.data.layouts import LayoutName
from palaestra.trainers.data.layouts.paths import PathAttention
from palaestra.trainers.data.path import PrefixPath
from palaestra.trainers.fillers import FillerInput, ReferenceSolutionLogprobs, answer_calls, probes_of
from palaestra.trainers.learner import Learner, LearnerConfig
from palaestra.trainers.model.checkpoint import fresh
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trajectory import Episode, Segment
from rollouts.library import codec, shown
from rollouts.playing import played

PLACES = (0, 1, 5)
SOLUTIONS = {episode.task.id: episode for episode in shown()}


@cache
def decoder(form: str = "compact") -> Decoder:
    size = len(codec(form).tokenizer)
    shape = DecoderShape(vocabulary=size, hidden=16, layers=2, heads=2, kv_heads=1, head_dim=8, mlp=32, context=4096)
    return fresh(shape, seed=3)


def given(form: str, *, layout: LayoutName = "shared", other: bool = False) -> FillerInput:
    """Trajectories, of which each has its own task's demonstration; or that of another one of its family."""
    episodes = tuple(replace(played(form, place), group=f"g{place}") for place in PLACES)
    wanted = {e.group: SOLUTIONS[e.task.id] for e in episodes}
    if other:
        wanted = {e.group: next(s for s in shown() if s.task.id != e.task.id) for e in episodes}
    learner = Learner(decoder(form), LearnerConfig(lr=1e-3, layout=layout, micro_tokens=600))
    return FillerInput(
        batch=flatten(episodes),
        episodes=episodes,
        seed=0,
        codec=codec(form),
        temperature=0.7,
        trained=learner,
        demonstration_of=wanted,
    )


def mean_logp(form: str, context: tuple[int, ...], answer: tuple[int, ...], temperature: float) -> float:
    """One sequence alone, with the whole distribution at every place."""
    ids = torch.tensor([*context, *answer])
    attend = PathAttention([PrefixPath(own=len(ids))], ids.device)
    with torch.no_grad():
        hidden_LC = decoder(form)(ids, torch.arange(len(ids)), attend)
        logp_LV = (decoder(form).logits(hidden_LC) / temperature).log_softmax(-1)
    return sum(float(logp_LV[place - 1, ids[place]]) for place in range(len(context), len(ids))) / len(answer)


@pytest.mark.parametrize("form", ["compact", "planner"])
@pytest.mark.parametrize("layout", ["packed", "shared"])
@pytest.mark.parametrize("other", [False, True])
def test_it_is_the_mean_over_the_answers_tokens_behind_each_beginning(
    form: str, layout: LayoutName, other: bool
) -> None:
    read = given(form, layout=layout, other=other)
    found = ReferenceSolutionLogprobs()(read)
    first, after = list[float](), list[float]()
    for episode, solution in zip(read.episodes, read.demonstrations, strict=True):
        (segment,) = episode.segments
        assert segment.tokens is not None
        starts = [span.start for span in segment.tokens.spans if span.kind == "turn"]
        probes = list(probes_of(episode, answer_calls(solution), codec(form), owner=0))
        ends = [*starts, len(segment.tokens.ids)]
        assert [probe.context for probe in probes] == [segment.tokens.ids[:end] for end in ends]
        logps = [mean_logp(form, probe.context, probe.ids, 0.7) for probe in probes]
        first.append(logps[0])
        after += logps[1:]
    assert found["gold_R"].tolist() == pytest.approx(first, rel=1e-5)
    assert found["gold_U"].tolist() == pytest.approx(after, rel=1e-5)


@pytest.mark.parametrize("form", ["compact", "planner"])
def test_where_the_trajectory_is_the_demonstration_it_is_how_likely_its_own_last_turn_was(form: str) -> None:
    read = given(form)
    found = ReferenceSolutionLogprobs(answer="last")(read)
    batch = read.batch
    logp_T = read.policy.columns(batch, ["logp"], temperature=0.7)["logp"]
    for trajectory in range(batch.trajectories):
        turns = (batch.trajectory_U == trajectory).nonzero()[:, 0].tolist()
        own_T = batch.trained_T & (batch.turn_T == turns[-1])
        assert float(found["gold_U"][turns[-2]]) == pytest.approx(float(logp_T[own_T].mean()), rel=1e-5)


def test_the_answer_is_written_in_the_words_of_the_trajectory() -> None:
    """Ids have the handles that they got in it, so that the environment would read the calls themselves."""
    form = codec("compact").format
    episode, solution = played("compact", 0), SOLUTIONS[played("compact", 0).task.id]
    calls = answer_calls(solution)
    *_, last = probes_of(episode, calls, codec("compact"), owner=0)
    rendering = form.rendering()
    (segment,) = episode.segments
    rendering.opening(segment.prompt, episode.tools)
    for turn in segment.turns:
        rendering.following(turn.observation)
    assert form.parse(rendering.read(codec("compact").decode(last.ids))).calls == calls


def test_the_answer_begins_with_the_first_change_or_behind_the_last_look_up() -> None:
    solution = SOLUTIONS["library/lend-book/0000"]
    assert [call.tool for call in answer_calls(solution)] == ["lend_book", "finish"]
    assert [call.tool for call in answer_calls(solution, last=True)] == ["finish"]
    (segment,) = solution.segments
    still = [replace(turn, changes=()) for turn in segment.turns]
    assert [any(event.shown for event in turn.events) for turn in still] == [True, True, False]
    for turns, expected in ((still, ["finish"]), (still[-1:], ["finish"]), (still[:1], ["search_books"])):
        episode = replace(solution, segments=(replace(segment, turns=tuple(turns)),))
        assert [call.tool for call in answer_calls(episode)] == expected
    with pytest.raises(RecordError, match="the demonstration of library/lend-book/0000 has no call"):
        answer_calls(replace(solution, segments=(Segment(prompt=(), turns=(replace(still[0], calls=()),)),)))


@pytest.mark.parametrize("broken", ["two", "bare"])
def test_what_has_no_single_context_is_refused(broken: Literal["two", "bare"]) -> None:
    episode: Episode = played("compact", 0)
    (segment,) = episode.segments
    segments = (segment, segment) if broken == "two" else (replace(segment, tokens=None),)
    with pytest.raises(RecordError, match="has 2 segments" if broken == "two" else "has no tokens"):
        list(probes_of(replace(episode, segments=segments), answer_calls(shown()[0]), codec("compact"), owner=0))
