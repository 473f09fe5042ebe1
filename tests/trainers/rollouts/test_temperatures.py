"""Temperatures that a head chose, from turn to turn of a trajectory and from its record into a batch."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from palaestra.errors import RecordError
from palaestra.trainers.data.flatten import flatten
from palaestra.trainers.data.store import read_columns, write_columns
from palaestra.trainers.engines.engine import Completion, TurnRequest
from palaestra.trainers.rollouts.budget import PlayConfig
from palaestra.trainers.rollouts.player import Player
from palaestra.trainers.rollouts.script import Script
from palaestra.trainers.rollouts.worlds import LocalWorlds
from palaestra.trajectory import Episode, Segment, Span, TemperatureChoices, Tokens, read_episodes, write_episodes
from pooled.clock import run
from rollouts.engine import ScriptedEngine
from rollouts.library import codec, jobs, library, solving
from trajectories import episode, turn


def choices(*temperatures: float) -> TemperatureChoices:
    count = len(temperatures)
    return TemperatureChoices(
        temperatures=temperatures,
        latents=tuple(0.0 if n % 2 else (n + 1) / 10 for n in range(count)),
        logprobs=tuple(-0.1 * (n + 1) for n in range(count)),
    )


def completion(*temperatures: float) -> Completion:
    count = len(temperatures)
    return Completion(
        ids=tuple(range(count)),
        logprobs=(-1.0,) * count,
        versions=(1,) * count,
        stop="end",
        choices=choices(*temperatures),
    )


def scripted() -> Script:
    """Two turns of two and one tokens, each behind something to read."""
    script = Script("t")
    script.read([5, 6, 7])
    script.wrote(completion(0.6, 1.2), [Span(kind="turn", start=3, end=5)])
    script.read([8])
    script.wrote(completion(1.4), [Span(kind="turn", start=6, end=7)])
    script.read([9, 9])
    return script


# In a script


def test_tokens_have_the_choices_of_their_turns_and_none_where_nothing_was_sampled() -> None:
    tokens = scripted().tokens()
    assert tokens.choices is not None
    assert tokens.choices.temperatures == (0.0, 0.0, 0.0, 0.6, 1.2, 0.0, 1.4, 0.0, 0.0)
    assert tokens.choices.latents == (0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.1, 0.0, 0.0)
    assert tokens.choices.logprobs == (0.0, 0.0, 0.0, -0.1, -0.2, 0.0, -0.1, 0.0, 0.0)


def test_the_last_temperature_stands_until_the_next_turn() -> None:
    script = Script("t")
    assert script.temperature is None
    script.read([1, 2])
    assert script.temperature is None
    script.wrote(completion(0.6, 1.2), [Span(kind="turn", start=2, end=4)])
    script.read([3])
    assert script.temperature == 1.2


def test_a_script_without_a_head_has_no_choices() -> None:
    script = Script("t")
    script.read([1])
    script.wrote(replace(completion(1.0), choices=None), [Span(kind="turn", start=1, end=2)])
    assert script.tokens().choices is None
    assert script.temperature is None


def test_a_record_gives_its_turns_again_with_their_choices() -> None:
    before = scripted().tokens()
    again = Script("t", before)
    again.read([5, 6, 7])
    first = again.recorded_turn()
    assert first is not None
    assert first == completion(0.6, 1.2)
    again.wrote(first, [Span(kind="turn", start=3, end=5)])
    again.read([8])
    assert again.temperature == 1.2
    second = again.recorded_turn()
    assert second is not None
    assert second == completion(1.4)
    again.wrote(second, [Span(kind="turn", start=6, end=7)])
    again.read([9, 9])
    assert again.recorded_turn() is None
    assert again.tokens() == before


class ChoosingEngine(ScriptedEngine):
    """A scripted engine whose head says another temperature at each token, and which remembers where turns began."""

    began: list[float]

    async def generate(self, request: TurnRequest) -> Completion:
        self.began = [*getattr(self, "began", []), request.sampling.temperature]
        found = await super().generate(request)
        place = len(request.context)
        return replace(found, choices=choices(*(0.5 + (place + n) / 1000 for n in range(len(found.ids)))))


def test_a_player_begins_each_turn_at_the_temperature_of_the_last_token() -> None:
    engine = ChoosingEngine(solving())
    config = PlayConfig(context=4096, turn=60, temperature=0.9)

    async def main() -> Episode:
        world = await LocalWorlds(library()).open()
        return await Player(jobs(1)[0], world, engine, codec(), config).play()

    [segment] = run(main()).segments
    assert segment.tokens is not None
    assert segment.tokens.choices is not None
    chosen = segment.tokens.choices.temperatures
    turns = [span for span in segment.tokens.spans if span.kind == "turn"]
    assert len(turns) > 1
    assert engine.began == [0.9, *(chosen[span.end - 1] for span in turns[:-1])]


# On disk and in a batch


def episodes_with(*tokens: Tokens) -> list[Episode]:
    return [
        episode(Segment(prompt=(), turns=(turn(1.0),) * len([s for s in one.spans if s.kind == "turn"]), tokens=one))
        for one in tokens
    ]


def test_files_keep_choices(tmp_path: Path) -> None:
    [plain] = episodes_with(replace(scripted().tokens(), choices=None))
    written = [*episodes_with(scripted().tokens()), plain]
    write_episodes(tmp_path / "lines.jsonl", written)
    assert list(read_episodes(tmp_path / "lines.jsonl")) == written
    write_columns(tmp_path / "table.parquet", written)
    assert list(read_columns(tmp_path / "table.parquet")) == written


def test_a_batch_has_the_choices_of_trained_tokens() -> None:
    batch = flatten(episodes_with(scripted().tokens(), scripted().tokens()))
    own_T = batch.trained_T
    assert batch.column("temperature_T")[own_T].tolist() == pytest.approx([0.6, 1.2, 1.4] * 2)
    assert batch.column("latent_T")[own_T].tolist() == pytest.approx([0.1, 0.0, 0.1] * 2)
    assert batch.column("choice_T")[own_T].tolist() == pytest.approx([-0.1, -0.2, -0.1] * 2)
    for name in ("temperature_T", "latent_T", "choice_T"):
        assert batch.column(name).dtype == torch.float32
        assert not batch.column(name)[~own_T].any()
    assert "temperature_T" not in flatten(episodes_with(replace(scripted().tokens(), choices=None))).columns


def test_a_trajectory_in_which_nothing_was_sampled_stands_beside_others() -> None:
    idle = Tokens(ids=(1, 2), sampled=(False,) * 2, logprobs=(0.0,) * 2, versions=(0,) * 2)
    batch = flatten(episodes_with(scripted().tokens(), idle))
    assert batch.column("temperature_T").count_nonzero() == 3


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"choices": None}, "a temperature head chose in other trajectories and not in this one; flatten them apart"),
        ({"choices": choices(0.6, 1.2)}, "9 ids and 2 temperatures of choices; there is one for each token"),
        ({"choices": choices(*(0.0,) * 9)}, r"token 3 was sampled at temperature 0\.0; a temperature is above 0"),
    ],
)
def test_choices_that_do_not_fit_their_tokens_are_refused(changes: dict[str, Any], told: str) -> None:
    tokens: Sequence[Tokens] = (scripted().tokens(), replace(scripted().tokens(), **changes))
    with pytest.raises(RecordError, match=told):
        flatten(episodes_with(*tokens))
