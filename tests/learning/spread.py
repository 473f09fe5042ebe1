"""A learner and a critic on two processes of this machine, over gloo; each process writes its results to a file."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh

from decoders import tiny, varied
from learning import sequences, weighed
from palaestra.errors import DivergedError
from palaestra.seeding import Stream
from palaestra.trainers.critic import Critic, CriticConfig, value_reading
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.learner import Learner, LearnerConfig, LoraConfig
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.model.shape import ExpertShape
from palaestra.trainers.objectives import ComposedObjective, SupervisedObjective

PLAIN = LearnerConfig(lr=1e-3, micro_tokens=60)
CONFIGS = {
    "plain": PLAIN,
    "shared": replace(PLAIN, layout="shared"),
    "checkpointing": replace(PLAIN, checkpointing=True),
    "adapters": replace(PLAIN, lora=LoraConfig(rank=2, alpha=4)),
    "half": replace(PLAIN, precision="bf16"),
    "experts": PLAIN,
}
CRITICS = {
    "value": CriticConfig(learner=PLAIN, updates=2),
    "shared value": CriticConfig(learner=replace(PLAIN, layout="shared"), progress=0.5),
    "probability": CriticConfig(learner=replace(PLAIN, checkpointing=True), loss="cross-entropy"),
}
WORLD = 2


def decoder(name: str) -> Decoder:
    """The decoder of a case; of six experts, some get no token of a process."""
    experts = ExpertShape(count=6, chosen=2, normalised=True) if name == "experts" else None
    return varied(tiny(experts=experts), deviation=0.1)


def batch() -> TokenBatch:
    """Seven trajectories of unlike lengths in three groups."""
    return replace(weighed(sequences()), group_R=torch.tensor([0, 0, 0, 1, 1, 2, 2]))


def come_to(learner: Learner) -> dict[str, Any]:
    """What a learner says and holds after steps on several batches, one of them of a single trajectory."""
    learner.optimiser.param_groups[0]["eps"] = 1e-3  # Adam's first step magnifies the rounding of gradients near 0
    whole = batch()
    metrics = [
        learner.step(ComposedObjective().prepare(whole), temperature=0.8),
        learner.step(SupervisedObjective().prepare(whole.select([4]))),
    ]
    state = learner.state()
    metrics.append(learner.step(ComposedObjective().prepare(whole)))
    learner.restore(state)
    metrics.append(learner.step(ComposedObjective().prepare(whole)))
    broken = replace(whole, advantage_T=whole.advantage_T / 0.0)
    try:
        learner.step(ComposedObjective().prepare(broken))
    except DivergedError:
        metrics.append({"diverged": 1.0})
    return {
        "metrics": [{name: value for name, value in row.items() if name != "seconds"} for row in metrics],
        "scores": tuple(learner.logprobs(whole, temperature=0.8)),
        "weights": {name: weight.clone() for name, weight in learner.weights().items()},
        "state": learner.state(),
    }


def learn_values(critic: Critic) -> dict[str, Any]:
    """The results of a critic after two batches, a third twice, and infinite targets, which squared errors refuse."""
    critic.optimiser.param_groups[0]["eps"] = 1e-3
    whole = batch()
    reading = value_reading(whole, "value_T")
    target_T = whole.trajectory_T.float() / whole.trajectories
    stream = Stream.root("spread")
    metrics = [critic.learn(whole, reading, target_T, stream=stream.split(step)) for step in range(2)]
    state = critic.state()
    metrics.append(critic.learn(whole, reading, target_T, stream=stream.split(2)))
    critic.restore(state)
    metrics.append(critic.learn(whole, reading, target_T, stream=stream.split(2)))
    try:
        critic.learn(whole, reading, target_T + torch.inf, stream=stream.split(3))
    except DivergedError:
        metrics.append({"diverged": 1.0})
    return {"metrics": metrics, "values": critic.values(whole), "state": critic.state()}


def work(rank: int, directory: Path) -> None:
    """One of the processes.

    It ends without the interpreter's shutdown: PyTorch's caches keep the mesh, with it the threads of gloo, and one
    that still releases the last message's tensors would abort a process that is shutting down.
    """
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{directory / 'meeting'}", rank=rank, world_size=WORLD)
    try:
        mesh = init_device_mesh("cpu", (WORLD,))
        for name, config in CONFIGS.items():
            torch.save(come_to(Learner(decoder(name), config, mesh=mesh)), directory / f"{name}.{rank}")
        for name, settings in CRITICS.items():
            torch.save(learn_values(Critic(decoder(name), settings, heads=1, mesh=mesh)), directory / f"{name}.{rank}")
    finally:
        distributed.destroy_process_group()
    os._exit(0)
