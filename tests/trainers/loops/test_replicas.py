"""Runs that draw with several engines: they come to what one engine comes to, and replay as they were recorded."""

import asyncio
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from crash.loops import ASYNC, SYNC, Told, figures, grpo_loop, run, sft_loop
from palaestra.errors import ConfigError, ReplayError
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.engines.replicas import ReplicaEngine, ReplicasConfig
from palaestra.trainers.loops import RecordedRun, recorded_batches
from palaestra.trainers.loops.memory import estimate_memory
from palaestra.trainers.loops.placement import place, placements
from palaestra.trainers.loops.reading import read_config
from palaestra.trainers.loops.rollout_config import GrpoConfig
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.policy import Policy

TWO = ReplicasConfig(count=2)
INVARIANT = replace(
    SYNC,
    steps=2,
    engine=NativeConfig(invariant=True),
    learner=replace(SYNC.learner, invariant=True),
)


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    return run(sft_loop(steps=40), tmp_path_factory.mktemp("sft")).policy


@pytest.fixture(scope="module")
def single(warm: Policy, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the run comes to with one engine."""
    return run(grpo_loop(warm, INVARIANT), tmp_path_factory.mktemp("single")).policy.digest()


def played(directory: Path) -> list[Any]:
    return [batch.groups for batch in recorded_batches(directory)]


def test_two_replicas_come_to_the_weights_that_one_engine_comes_to(warm: Policy, single: str, tmp_path: Path) -> None:
    result = run(grpo_loop(warm, replace(INVARIANT, replicas=TWO)), tmp_path / "two")
    assert result.policy.digest() == single
    assert {line["replica"] for line in decisions(tmp_path / "two")} == {0, 1}
    for row in result.progress.history:
        assert row.get("mismatch/max", 0.0) == 0.0


@pytest.mark.parametrize("in_flight", ["keep", "wait"])
def test_a_run_that_overlaps_training_replays_from_its_record_to_equal_weights(
    warm: Policy, tmp_path: Path, in_flight: Any
) -> None:
    config = replace(ASYNC, steps=3, replicas=TWO, in_flight=in_flight)
    result = run(grpo_loop(warm, config), tmp_path / "run")
    again = run(grpo_loop(warm, config, replay=RecordedRun.of(tmp_path / "run")), tmp_path / "again")
    assert again.policy.digest() == result.policy.digest()
    assert played(tmp_path / "again") == played(tmp_path / "run")
    assert figures(again) == figures(result)


def test_a_replica_that_is_killed_costs_its_turns_a_second_try_and_the_run_its_replay(
    warm: Policy, single: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[int] = []
    update = ReplicaEngine.update_weights

    async def kill_one(engine: ReplicaEngine, weights: Any, version: int, **settings: Any) -> None:
        await update(engine, weights, version, **settings)
        worker = engine._replicas[1]._worker
        if version == 1 and worker is not None:
            killed.append(worker.pid)
            asyncio.get_running_loop().call_later(0.05, os.kill, worker.pid, signal.SIGKILL)

    monkeypatch.setattr(ReplicaEngine, "update_weights", kill_one)
    said: Told = []
    config = replace(INVARIANT, replicas=TWO)
    result = run(grpo_loop(warm, config, said=said), tmp_path / "run")
    assert killed
    assert any(f"process {killed[0]}, was killed by SIGKILL. Another takes its place" in line for line in said)
    assert result.policy.digest() == single
    with pytest.raises(ReplayError, match="one has ended and was replaced"):
        run(grpo_loop(warm, config, replay=RecordedRun.of(tmp_path / "run")), tmp_path / "again")


def decisions(directory: Path) -> Iterator[Any]:
    for line in RecordedRun.of(directory).schedule:
        yield orjson.loads(line)


# settings


def refused(table: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as raised:
        place(read_config(table))
    return str(raised.value)


@pytest.mark.parametrize("stage", ["grpo", "expert", "rejection"])
def test_replicas_are_refused_beside_vllm(stage: str) -> None:
    assert "leave one of the two sections out" in refused({stage: {"replicas": {}, "vllm": {}}})


@pytest.mark.parametrize("section", ["replicas", "vllm"])
@pytest.mark.parametrize("stage", ["grpo", "expert"])
def test_a_stage_that_ends_by_processor_time_draws_in_its_own_process(stage: str, section: str) -> None:
    assert f"cpu_seconds=9, {section}: the time is that of the training process" in refused(
        {stage: {section: {}, "cpu_seconds": 9}}
    )


def test_weights_in_four_bits_have_no_replicas() -> None:
    table: dict[str, Any] = {"precision": "nvfp4", "lora": {"rank": 2}}
    said = refused({"grpo": {"replicas": {}, "engine": {"precision": "nvfp4"}, "learner": {"lr": 1e-3, **table}}})
    assert "replicas, engine.precision='nvfp4': replicas are passed whole weights" in said


def test_the_invariant_mode_has_them_on_processors_alone() -> None:
    grpo = {"replicas": {"count": 1, "devices": ["meta"]}}
    assert "replicas.devices names 'meta'" in refused({"invariant": True, "device": "cpu", "grpo": grpo})
    grpo = {"replicas": {"devices": ["cpu", "cpu"]}}
    assert place(read_config({"invariant": True, "device": "cpu", "grpo": grpo})).grpo is not None


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ({"count": 0}, "replicas.count=0: give at least 1"),
        ({"devices": ["cuda:9"]}, "name a device for each replica"),
        ({"number": 2}, "replicas.number"),
        ({"devices": ["none", "none"]}, "grpo.replicas.devices"),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(section: dict[str, Any], says: str) -> None:
    assert says in refused({"grpo": {"replicas": section}})


def test_where_they_work_is_said() -> None:
    table = {"device": "cpu", "grpo": {"replicas": {"count": 3}}}
    (engine,) = [one for one in placements(place(read_config(table))) if one.part == "engine"]
    assert (engine.device, engine.detail) == ("cpu", "3 replicas of 1 thread, each native, 64 turns at once")
    table = {"device": "cpu", "grpo": {"replicas": {"threads": 4, "devices": ["cpu", "cpu"]}}}
    (engine,) = [one for one in placements(place(read_config(table))) if one.part == "engine"]
    assert (engine.device, engine.detail) == ("cpu", "2 replicas of 4 threads, each native, 64 turns at once")


def test_what_devices_they_are_given_goes_before_the_engines() -> None:
    grpo = {"engine": {"device": "cpu", "precision": "fp32"}, "replicas": {"devices": ["meta", "meta"]}}
    placed = place(read_config({"device": "cpu", "grpo": grpo})).grpo
    assert placed is not None
    assert placed.replicas is not None
    assert (placed.engine.device, placed.replicas.devices) == ("meta", ("meta", "meta"))


def test_the_memory_of_each_is_counted() -> None:
    shape = DecoderShape(vocabulary=100, hidden=32, layers=1, heads=2, kv_heads=1, head_dim=16, mlp=64, context=1024)
    config = GrpoConfig(engine=NativeConfig(device="cpu"))
    single = {item.what: item.bytes for item in estimate_memory(config, shape)}
    several = {item.what: item.bytes for item in estimate_memory(replace(config, replicas=TWO), shape)}
    assert several["weights of 2 replicas"] == 2 * single["weights of the engine"]
    assert several["keys and values of the replicas, at most"] == 2 * single["keys and values, at most"]
    assert several["weights on their way to replicas, at most"] == 2 * 4 * shape.parameters
