"""A process group that trains one run: learner, reference policy and critic are spread over all its processes.

Start the processes with `torchrun --nproc-per-node 4 -m palaestra train RUN.toml`. The first process runs the loop with
rollouts, saves and logs. It sends each call of a model to the other processes, which make the same call, so that all
processes meet in the same sums. If a process dies, torchrun ends the others, and the run resumes from its last save.
"""

import os
import signal
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor, distributed
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from palaestra.errors import PalaestraError
from palaestra.seeding import Stream
from palaestra.trainers.critic import Critic, CriticConfig, ValueReading
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.device import resolve_device
from palaestra.trainers.engines.engine import Weights
from palaestra.trainers.learner import Learner, LearnerConfig
from palaestra.trainers.learner.statistics import TokenStatistic
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.objectives import Metrics, PreparedStep

_TIMEOUT = timedelta(days=7)
"""How long the other processes wait for a call: rollouts take time. If the first process dies, they notice at once."""
_Role: TypeAlias = Literal["learner", "reference", "critic"]


class _Call(NamedTuple):
    """A call of a model, or of the constructor of one (`method` is "make")."""

    role: _Role
    method: str
    arguments: tuple[Any, ...]
    settings: dict[str, Any]


class ProcessGroup:
    """The processes that torchrun started, including this one; a `ModelFactory` in the first process."""

    def __init__(self) -> None:
        self.first = distributed.get_rank() == 0
        """Whether this process runs the loop."""
        group = distributed.new_group(backend="gloo", timeout=_TIMEOUT)
        assert isinstance(group, distributed.ProcessGroup), "all processes are in it"
        self._calls: distributed.ProcessGroup | None = group

    def learner(self, model: Decoder, config: LearnerConfig, /) -> Learner:
        """See `ModelFactory`. Call it in the first process; the others drop the models of the stage before."""
        return _SpreadLearner(self, "learner", model, config)

    def reference(self, model: Decoder, config: LearnerConfig, /) -> Learner:
        """See `ModelFactory`. Call it in the first process."""
        return _SpreadLearner(self, "reference", model, config)

    def critic(self, model: Decoder, config: CriticConfig, /, *, heads: int) -> Critic:
        """See `ModelFactory`. Call it in the first process."""
        return _SpreadCritic(self, model, config, heads=heads)

    def follow(self) -> None:
        """Make the calls of the first process, until it calls `dismiss`. Call it in every other process."""
        models: dict[_Role, Learner | Critic] = {}
        for number in (signal.SIGTERM, signal.SIGINT):  # the first process saves, which takes all, and then ends them
            signal.signal(number, signal.SIG_IGN)
        while (call := self._receive()) is not None:
            role, method, arguments, settings = call
            del call  # a model in it would stay whole in memory
            try:
                if method == "make":
                    if role == "learner":
                        models.clear()
                    models[role] = _make(role, *arguments, **settings)
                else:
                    getattr(models[role], method)(*arguments, **settings)
            except (PalaestraError, ValueError):
                continue  # the first process has the same error, and decides
            finally:
                del arguments, settings

    def dismiss(self) -> None:
        """End `follow` in the other processes."""
        distributed.broadcast_object_list([None], src=0, group=self._calls)

    def close(self) -> None:
        """End the threads that carry messages; no model of the group may be called afterwards.

        A thread of gloo releases a message's tensors after all processes have received it, and takes Python's lock to
        do so. In an interpreter that is ending, this aborts the process. The threads of a group end with its last
        reference.
        """
        distributed.destroy_process_group()
        self._calls = None

    def send(self, role: _Role, method: str, *arguments: object, **settings: object) -> None:
        """Send a call to the other processes."""
        distributed.broadcast_object_list([_Call(role, method, arguments, settings)], src=0, group=self._calls)

    def _receive(self) -> _Call | None:
        received: list[Any] = [None]
        distributed.broadcast_object_list(received, src=0, group=self._calls)
        call: _Call | None = received[0]
        return call


@contextmanager
def join_process_group() -> Generator[ProcessGroup | None]:
    """The processes that torchrun started for this run; `None` if it started only this one or did not start it."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield None
        return
    distributed.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    group = ProcessGroup()
    try:
        yield group
    finally:
        try:
            if group.first:
                group.dismiss()
        finally:
            group.close()


def device_of(config: LearnerConfig) -> torch.device:
    """The device of this process's shares: of several accelerators, that of its local rank."""
    device = torch.device(resolve_device(config.device or "cpu"))
    if device.type != "cuda":
        return device
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    return torch.device("cuda", int(os.environ["LOCAL_RANK"]))


def mesh_of(config: LearnerConfig) -> DeviceMesh:
    """All processes, in one dimension."""
    return init_device_mesh(device_of(config).type, (distributed.get_world_size(),))


def _make(role: _Role, model: Decoder, config: Any, **settings: Any) -> Learner | Critic:
    """A model of this process's shares; it does not refer to the whole model."""
    if role == "critic":
        return Critic(model.to(device_of(config.learner)), config, mesh=mesh_of(config.learner), **settings)
    return Learner(model.to(device_of(config)), config, mesh=mesh_of(config))


class _SpreadLearner(Learner):
    """The learner of the first process. It sends each call to the other processes and makes it itself."""

    def __init__(self, group: ProcessGroup, role: _Role, model: Decoder, config: LearnerConfig) -> None:
        self._group = group
        self._role: _Role = role
        group.send(role, "make", model.cpu(), config)
        super().__init__(model.to(device_of(config)), config, mesh=mesh_of(config))
        model.cpu()  # the whole weights, of which only saves and engines read copies, need no accelerator

    def step(self, prepared: PreparedStep, *, lr: float | None = None, temperature: float = 1.0) -> Metrics:
        self._group.send(self._role, "step", prepared, lr=lr, temperature=temperature)
        return super().step(prepared, lr=lr, temperature=temperature)

    def columns(
        self, batch: TokenBatch, wanted: Collection[TokenStatistic], *, temperature: float = 1.0
    ) -> dict[TokenStatistic, Tensor]:
        self._group.send(self._role, "columns", batch, tuple(wanted), temperature=temperature)
        return super().columns(batch, wanted, temperature=temperature)

    def weights(self) -> Weights:
        self._group.send(self._role, "weights")
        return super().weights()

    def state(self, *, copy: bool = True) -> dict[str, Any]:
        self._group.send(self._role, "state", copy=copy)
        return super().state(copy=copy)

    def restore(self, state: Mapping[str, Any]) -> None:
        self._group.send(self._role, "restore", state)
        super().restore(state)


class _SpreadCritic(Critic):
    """The critic of the first process. It sends each call to the other processes and makes it itself."""

    def __init__(self, group: ProcessGroup, model: Decoder, config: CriticConfig, *, heads: int) -> None:
        self._group = group
        group.send("critic", "make", model.cpu(), config, heads=heads)
        super().__init__(model.to(device_of(config.learner)), config, heads=heads, mesh=mesh_of(config.learner))
        model.cpu()

    def values(self, batch: TokenBatch) -> Tensor:
        self._group.send("critic", "values", batch)
        return super().values(batch)

    def learn(
        self,
        batch: TokenBatch,
        reading: ValueReading,
        target: Tensor,
        *,
        stream: Stream,
        before_TH: Tensor | None = None,
    ) -> Metrics:
        self._group.send("critic", "learn", batch, reading, target, stream=stream, before_TH=before_TH)
        return super().learn(batch, reading, target, stream=stream, before_TH=before_TH)

    def state(self) -> dict[str, Any]:
        self._group.send("critic", "state")
        return super().state()

    def restore(self, state: Mapping[str, Any]) -> None:
        self._group.send("critic", "restore", state)
        super().restore(state)
