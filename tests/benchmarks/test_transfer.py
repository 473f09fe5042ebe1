"""Arms differ in the number of worlds alone, one codec reads all worlds, and figures are what they say."""

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import orjson
import pytest
import torch
from transformers import AutoModelForCausalLM
from typer.testing import CliRunner

from palaestra.benchmarks.statistics import Unit
from palaestra.benchmarks.transfer import (
    GROUPS,
    TransferCell,
    TransferConfig,
    TransferFloors,
    TransferGroup,
    TransferKey,
    measure_floors,
    read_cells,
    run_cell,
    score_solutions,
    training_world,
    transfer_groups,
    transfer_settings,
    transfer_tables,
)
from palaestra.benchmarks.transfer.cells import STAGES, StageFigures
from palaestra.benchmarks.transfer.demonstrations import as_tokens, draw_demonstrations, first_policy
from palaestra.benchmarks.transfer.figures import TaskFigures, legal_share, lookup_share
from palaestra.benchmarks.transfer.floors import AGENTS
from palaestra.benchmarks.transfer.groups import FIRST, STOREFRONT, TRAINED
from palaestra.cli.app import app
from palaestra.envs.synthesis import listing
from palaestra.envs.synthesis.listing import listed_numbers, listed_worlds, save_listing
from palaestra.errors import CapabilityError, ConfigError, RecordError
from palaestra.tools import Mark
from palaestra.trainers import ModelConfig, Policy, SftConfig, Staleness, WorldConfig, demonstrations_of
from palaestra.trainers.data.demonstration import render_episode
from palaestra.trajectory import Episode
from palaestra.transcript import transcript_of

USUAL = TransferConfig()
SMALL = replace(
    USUAL,
    model=ModelConfig(hidden=16, layers=1, heads=1, kv_heads=1, head_dim=16, mlp=32, context=4096, vocabulary=1200),
    codec_worlds=1,
    tokens=200,
    epochs=1.0,
    sft=SftConfig(batch=2),
    expert=replace(
        USUAL.expert,
        steps=1,
        batch=2,
        group_size=2,
        limits=Staleness(per_step=1),
        play=replace(USUAL.expert.play, context=2000, turn=8, turns=2),
    ),
    imitated_tokens=200,
    tasks=1,
)


@cache
def policy() -> Policy:
    return first_policy(SMALL, 0)


@cache
def groups(worlds: int = 5) -> dict[str, TransferGroup]:
    return {group.name: group for group in transfer_groups(worlds, 4)}


@cache
def solutions(name: str) -> list[Episode]:
    group = groups()[name]
    return demonstrations_of(WorldConfig(env_id=group.env_id), tasks=group.tasks)


def worlds_of(tasks: tuple[str, ...]) -> set[str]:
    return {task.partition("/")[0] for task in tasks}


def test_only_the_group_of_trained_worlds_differs_between_arms() -> None:
    one, five = groups(1), groups(5)
    assert list(one) == list(five) == list(GROUPS)
    assert {name for name in GROUPS if one[name] != five[name]} == {TRAINED}
    assert one[TRAINED].tasks == one[FIRST].tasks
    assert len(worlds_of(five[TRAINED].tasks)) == 4


def test_no_world_that_is_trained_in_is_in_another_group() -> None:
    trained = {f"synth-{number}" for number in listed_numbers("train")}
    for name, group in groups().items():
        assert (worlds_of(group.tasks) <= trained) == (name in (TRAINED, FIRST))
        assert group.unit is (Unit.FAMILY if group.env_id == STOREFRONT else Unit.WORLD)
        assert len(group.tasks) == len(set(group.tasks)) == 4


@pytest.mark.parametrize("worlds", [1, 5])
def test_demonstrations_of_every_arm_have_equal_tokens_and_are_spread_evenly(worlds: int) -> None:
    codec = policy().codec
    shown = draw_demonstrations(worlds, 1500, codec, 4096)
    each = [sum(as_tokens(episode, codec).sampled) for episode in shown]
    assert 1500 <= sum(each) < 1500 + each[-1]
    played = [episode.task.id.partition("/")[0] for episode in shown]
    counts = [played.count(f"synth-{number}") for number in listed_numbers("train")[:worlds]]
    assert sum(counts) == len(shown)
    assert max(counts) - min(counts) <= 1
    families = [episode.task.family for episode in shown if played[0] in episode.task.id]
    assert max(map(families.count, families)) - min(map(families.count, families)) <= 1
    assert all(episode.score.passed and episode.task.split == "train" for episode in shown)
    assert len({episode.task.id for episode in shown}) == len(shown)


@pytest.mark.parametrize("name", GROUPS)
def test_one_codec_reads_and_writes_every_world(name: str) -> None:
    """All handles are single tokens, and all text comes back, also of worlds whose words the codec never saw."""
    codec = policy().codec
    for episode in solutions(name):
        pieces = render_episode(transcript_of(episode), codec.format)
        assert "".join(codec.decode(codec.encode(pieces))) == "".join(pieces)
        assert all(len(codec.encode([piece])) == 1 for piece in pieces if isinstance(piece, Mark))


def test_the_codec_has_no_sentence_of_a_single_world() -> None:
    words = policy().codec.tokenizer.get_vocab()
    assert max(len(word.split("Ġ")) for word in words) <= 3
    assert policy().codec.tokenizer.get_vocab() == first_policy(SMALL, 1).codec.tokenizer.get_vocab()
    assert policy().digest() != first_policy(SMALL, 1).digest()


def test_likelihood_is_the_mean_of_the_logarithms_that_the_model_gives(tmp_path: Path) -> None:
    """Against a second computation: the logits that transformers' model gives of each sequence by itself."""
    policy().save(tmp_path)
    model = AutoModelForCausalLM.from_pretrained(tmp_path)  # pyright: ignore[reportUnknownMemberType]
    shown = solutions("new domains")[:2]
    found = score_solutions(policy(), shown)
    for episode in shown:
        one = as_tokens(episode, policy().codec)
        ids = torch.tensor([one.ids])
        with torch.no_grad():
            logits = model(ids).logits
        logp = logits[0, :-1].log_softmax(-1).gather(-1, ids[0, 1:, None])[:, 0]
        own = torch.tensor(one.sampled[1:])
        assert found[episode.task.id].nats == pytest.approx(-float(logp[own].mean()), rel=1e-4)
        assert found[episode.task.id].tokens == int(own.sum())
        assert found[episode.task.id].nats == pytest.approx(math.log(len(policy().codec.tokenizer)), abs=0.5)


def test_demonstrations_that_are_longer_than_the_policy_reads_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"context=100: the solution of synth-0/.* tokens; raise it"):
        draw_demonstrations(1, 1500, policy().codec, 100)


def test_solutions_that_are_longer_than_the_policy_reads_have_no_likelihood() -> None:
    shown = solutions(GROUPS[-1])
    short = first_policy(replace(SMALL, model=replace(SMALL.model, context=300)), 0)
    assert score_solutions(short, shown) == {}


def test_solutions_are_legal_and_look_everything_up() -> None:
    for episode in solutions("new mechanisms"):
        assert (legal_share(episode), lookup_share(episode)) == (100.0, 100.0)


def test_floors_are_measured_once_and_read_again(tmp_path: Path) -> None:
    config = replace(USUAL, tasks=1)
    floors = measure_floors(config, tmp_path / "floors.json")
    written = (tmp_path / "floors.json").read_bytes()
    assert measure_floors(config, tmp_path / "floors.json") == floors
    assert list(floors.results) == list(AGENTS)
    for of_agent in floors.results.values():
        assert list(of_agent) == list(GROUPS)
        assert not any(any(one.solved) for tasks in of_agent.values() for one in tasks.values())
    assert measure_floors(replace(USUAL, tasks=2), tmp_path / "floors.json").settings != floors.settings
    assert (tmp_path / "floors.json").read_bytes() != written
    (tmp_path / "floors.json").write_text("{}")
    with pytest.raises(RecordError, match="remove it to measure anew"):
        measure_floors(config, tmp_path / "floors.json")


def test_floors_of_worlds_that_were_proved_anew_are_measured_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    config = replace(USUAL, tasks=1)
    before = measure_floors(config, tmp_path / "floors.json")
    proved = {number: replace(one, blueprint=f"{one.blueprint} anew") for number, one in listed_worlds().items()}
    save_listing(proved, tmp_path / "listing.json")
    monkeypatch.setattr(listing, "PATH", tmp_path / "listing.json")
    listed_worlds.cache_clear()
    request.addfinalizer(listed_worlds.cache_clear)
    assert measure_floors(config, tmp_path / "floors.json").settings != before.settings


def test_more_worlds_than_are_listed_are_refused(tmp_path: Path) -> None:
    listed = len(listed_numbers("train"))
    with pytest.raises(CapabilityError, match=f"worlds={listed + 1}: {listed} generated worlds are listed"):
        training_world(listed + 1)
    result = CliRunner().invoke(app, ["bench", "transfer", "9999", "--cells", str(tmp_path)])
    assert isinstance(result.exception, CapabilityError)
    asked = ["bench", "transfer", "1", "9999", "--minutes", "0", "--cells", str(tmp_path), "--work", str(tmp_path)]
    said = CliRunner().invoke(app, asked).output
    assert f"9999 worlds: not run, since {listed} are listed for training" in said
    assert "no cell is finished yet" in said


def test_a_cell_is_trained_measured_kept_and_found_again(tmp_path: Path) -> None:
    key = TransferKey(1, 0)
    run_cell(key, SMALL, tmp_path / "cells", tmp_path / "work")
    ((found, cell),) = read_cells(tmp_path / "cells", SMALL, [1]).items()
    assert found == key
    assert 200 <= cell.demonstration_tokens < cell.read_tokens
    assert cell.stages["expert"].rollouts == 2
    assert all(stage.trained_tokens > 0 for stage in cell.stages.values())
    for stage in STAGES:
        assert list(cell.results[stage]) == list(GROUPS)
        for group in transfer_groups(1, 1):
            assert list(cell.results[stage][group.name]) == list(group.tasks)
    assert read_cells(tmp_path / "cells", replace(SMALL, tokens=201), [1]) == {}
    run_cell(key, SMALL, tmp_path / "again", tmp_path / "work")  # goes on from what is there
    assert (tmp_path / "again" / f"{key}.json").read_bytes() == (tmp_path / "cells" / f"{key}.json").read_bytes()
    (tmp_path / "cells" / f"{key}.json").write_text("{")
    with pytest.raises(RecordError, match="remove it to run the cell anew"):
        read_cells(tmp_path / "cells", SMALL, [1])


def test_a_cell_of_worlds_that_were_proved_anew_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = transfer_settings(SMALL, 1), transfer_settings(SMALL, 5)
    worlds = dict(listed_worlds())
    last = listed_numbers("train")[4]
    worlds[last] = replace(worlds[last], blueprint="anew")
    monkeypatch.setattr("palaestra.benchmarks.transfer.cells.listed_worlds", lambda: worlds)
    assert transfer_settings(SMALL, 1) == before[0]
    assert transfer_settings(SMALL, 5) != before[1]


def made(worlds: int, seed: int, nats: float) -> TransferCell:
    """A cell whose tasks all have the same figures."""
    figures = TaskFigures(solved=(0,), points=(10 * worlds,), legal=50.0, lookups=25.0, nats=nats)
    stage = StageFigures(steps=1, trained_tokens=100, rollouts=8, drawn_tokens=50, cpu_seconds=1.5)
    tasks = {name: {f"synth-{number}/a/0": figures for number in (1, 2)} for name in GROUPS}
    tasks[TRAINED] = {f"synth-{number}/a/1": figures for number in range(worlds)}
    return TransferCell(
        worlds=worlds,
        seed=seed,
        settings={},
        demonstrations=3,
        demonstration_tokens=30,
        read_tokens=300,
        stages=dict.fromkeys(STAGES, stage),
        results=dict.fromkeys(STAGES, tasks),
    )


def test_tables_compare_with_the_fewest_worlds_and_say_what_is_not_run() -> None:
    cells = {TransferKey(c.worlds, c.seed): c for c in (made(1, 0, 3.0), made(1, 1, 4.0), made(5, 0, 1.0))}
    floor = TaskFigures(solved=(0,), points=(-5,), legal=0.0, lookups=0.0)
    floors = TransferFloors(settings="", results={"reader": {name: {"synth-1/a/0": floor} for name in GROUPS}})
    tables = transfer_tables(cells, floors, USUAL, worlds=(1, 5, 50), seeds=2)
    assert [table.title.rpartition(", ")[2] for table in tables] == [
        "after demonstrations",
        "after expert iteration",
        "What training took",
    ]
    rows = {row[:2]: dict(zip(tables[0].columns, row, strict=True)) for row in tables[0].rows}
    column = "nats a token of the oracle's turns"
    assert rows["new domains", "1 world"][column].startswith("3.50, 2 worlds")
    assert rows["new domains", "5 worlds"]["over 1 world"].startswith("-2.00, 2 worlds")  # paired with seed 0 alone
    assert rows[TRAINED, "5 worlds"]["over 1 world"] == ""  # other tasks
    assert rows["new domains", "1 world"]["by seed"] == "3.00, 4.00"
    assert [rows["new domains", arm]["not run"] for arm in ("1 world", "5 worlds", "50 worlds")] == [
        "",
        "seed 1",
        "seed 0, 1",
    ]
    assert rows["new domains", "reader"]["points"] == "-5.0, 1 world"
    assert [row[:2] for row in tables[2].rows] == [("1 world", "2"), ("5 worlds", "1")]
    assert transfer_tables({}, floors, USUAL, worlds=(1,), seeds=1) == []


def test_cells_are_small() -> None:
    assert len(orjson.dumps(made(5, 0, 1.2345))) < 6000
