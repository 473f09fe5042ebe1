"""Shapes and work small enough for a test."""

from collections.abc import Iterator

import pytest
import torch

from palaestra.benchmarks.speed.training.scale import AsyncScale, EngineScale, ReplicaScale, TrainingScale, TrainScale
from palaestra.trainers.model.shape import DecoderShape

SHAPE = DecoderShape(vocabulary=300, hidden=32, layers=2, heads=2, kv_heads=1, head_dim=16, mlp=48, context=256)


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def scale() -> TrainingScale:
    return TrainingScale(
        engine=EngineScale(
            shape=SHAPE, sequences=3, prompt=7, new=5, turns=2, turn=4, answer=3, latency=(1e-4, 2e-4), rounds=2
        ),
        train=TrainScale(
            shape=SHAPE,
            groups=2,
            group_size=2,
            prompt=6,
            shortest=3,
            longest=20,
            turn=4,
            answer=3,
            micro_tokens=64,
            rounds=1,
        ),
        asynchrony=AsyncScale(
            agents=4, groups=2, group_size=2, turn=4, latency=(1e-4, 2e-4), warm_up=1, steps=1, rounds=1
        ),
        replicas=ReplicaScale(shape=SHAPE, groups=2, group_size=2, prompt=7, turns=2, turn=4, answer=3, rounds=1),
    )
