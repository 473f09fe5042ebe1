"""A learner over several processes that one of them calls: the first runs the loop, the others do as it does.

Start them with `torchrun --nproc-per-node 4 -m palaestra train RUN.toml`. Rollouts, saves and logs are the first
one's business alone; what it calls of its learner is told to the others, who call the same of theirs, so that all meet
in the same sums. Where one process dies, torchrun ends the others, and the run goes on from its last save.
"""

import os
import signal
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor, distributed
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from palaestra.errors import PalaestraError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.device import resolve_device
from palaestra.trainers.engines.engine import Weights
from palaestra.trainers.learner.config import LearnerConfig
from palaestra.trainers.learner.learner import Learner
from palaestra.trainers.learner.statistics import TokenStatistic
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.objectives.objective import Metrics, PreparedStep

_PATIENCE = timedelta(days=7)
"""How long the others wait for the first, whose rollouts may take a while; where it dies they know at once."""


class ProcessGroup:
    """The processes that torchrun has started, this one among them."""

    def __init__(self) -> None:
        self.first = distributed.get_rank() == 0
        """Whether this one runs the loop."""
        words = distributed.new_group(backend="gloo", timeout=_PATIENCE)
        assert isinstance(words, distributed.ProcessGroup), "all processes are in it"
        self._words: distributed.ProcessGroup | None = words

    def learner(self, model: Decoder, config: LearnerConfig) -> Learner:
        """A learner over all of them, made by the first; see `Learner`."""
        return _First(self, model, config)

    def follow(self) -> None:
        """Do as the first does, until it calls `dismiss`; for all others."""
        learner: Learner | None = None
        for number in (signal.SIGTERM, signal.SIGINT):  # the first saves, which takes all of them, and then ends them
            signal.signal(number, signal.SIG_IGN)
        while (told := self._hear()) is not None:
            call, arguments, settings = told
            if call == "make":
                learner = _make_learner(*arguments)
                continue
            try:
                getattr(learner, call)(*arguments, **settings)
            except (PalaestraError, ValueError):
                continue  # the first has it too, and decides

    def dismiss(self) -> None:
        """The first has ended; so may the others."""
        distributed.broadcast_object_list([None], src=0, group=self._words)

    def close(self) -> None:
        """End the threads that carry its messages; no learner of it may be called any more.

        A thread of gloo releases a message's tensors after all have received it, and takes Python's lock to do so. In
        an interpreter that is ending, that aborts the process. The threads of a group end with its last reference.
        """
        distributed.destroy_process_group()
        self._words = None

    def tell(self, call: str, *arguments: object, **settings: object) -> None:
        """Have the others call the same of their learners."""
        distributed.broadcast_object_list([(call, arguments, settings)], src=0, group=self._words)

    def _hear(self) -> tuple[str, tuple[Any, ...], dict[str, Any]] | None:
        told: list[Any] = [None]
        distributed.broadcast_object_list(told, src=0, group=self._words)
        heard: tuple[str, tuple[Any, ...], dict[str, Any]] | None = told[0]
        return heard


@contextmanager
def join_process_group() -> Generator[ProcessGroup | None]:
    """The processes that torchrun has started for this run; `None` where it started no more than this."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield None
        return
    distributed.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    crew = ProcessGroup()
    try:
        yield crew
    finally:
        try:
            if crew.first:
                crew.dismiss()
        finally:
            crew.close()


def device_of(config: LearnerConfig) -> torch.device:
    """Where this process trains: of several accelerators, the one that is its own."""
    device = torch.device(resolve_device(config.device or "cpu"))
    if device.type != "cuda":
        return device
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    return torch.device("cuda", int(os.environ["LOCAL_RANK"]))


def mesh_of(config: LearnerConfig) -> DeviceMesh:
    """All processes, in one dimension."""
    return init_device_mesh(device_of(config).type, (distributed.get_world_size(),))


def _make_learner(model: Decoder, config: LearnerConfig) -> Learner:
    """A learner of this process's share; nothing here holds the whole model any longer."""
    return Learner(model.to(device_of(config)), config, mesh=mesh_of(config))


class _First(Learner):
    """The learner of the process that runs the loop: what is called of it, the others call of theirs."""

    def __init__(self, crew: ProcessGroup, model: Decoder, config: LearnerConfig) -> None:
        self._crew = crew
        crew.tell("make", model.cpu(), config)
        super().__init__(model.to(device_of(config)), config, mesh=mesh_of(config))

    def step(self, prepared: PreparedStep, *, lr: float | None = None, temperature: float = 1.0) -> Metrics:
        self._crew.tell("step", prepared, lr=lr, temperature=temperature)
        return super().step(prepared, lr=lr, temperature=temperature)

    def columns(
        self, batch: TokenBatch, wanted: Collection[TokenStatistic], *, temperature: float = 1.0
    ) -> dict[TokenStatistic, Tensor]:
        self._crew.tell("columns", batch, tuple(wanted), temperature=temperature)
        return super().columns(batch, wanted, temperature=temperature)

    def weights(self) -> Weights:
        self._crew.tell("weights")
        return super().weights()

    def state(self, *, copy: bool = True) -> dict[str, Any]:
        self._crew.tell("state", copy=copy)
        return super().state(copy=copy)

    def restore(self, state: Mapping[str, Any]) -> None:
        self._crew.tell("restore", state)
        super().restore(state)
