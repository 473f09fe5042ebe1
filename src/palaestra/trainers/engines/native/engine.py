"""The native engine's public class: turns are requested by many tasks at once and sampled together in one loop.

The loop runs a step of the model, yields to the other tasks, and continues; without work it sleeps. The model's passes
block the event loop, so other slow work belongs in other processes.
"""

import asyncio
from array import array
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any
from zlib import crc32

from palaestra.errors import CheckpointError, EngineError, PalaestraError, ReplayError, WaitError
from palaestra.trainers.engines.engine import Completion, Engine, EngineStats, InFlight, TurnRequest, Weights
from palaestra.trainers.engines.native.config import NativeConfig
from palaestra.trainers.engines.native.core import Core
from palaestra.trainers.engines.native.schedule import (
    EngineArrivals,
    EnginePlan,
    EngineSchedule,
    FreeSchedule,
    TurnKey,
    WeightUpdate,
    Withdrawal,
)
from palaestra.trainers.engines.native.turns import Drawing
from palaestra.trainers.engines.rules import check_request
from palaestra.trainers.model.decoder import Decoder


@dataclass(slots=True, eq=False)
class _Ticket:
    """A caller that waits for a turn."""

    request: TurnRequest
    turn: TurnKey
    done: "asyncio.Future[Completion]"
    given_up: bool = False
    late: bool = False
    drawing: Drawing | None = None


@dataclass(slots=True, eq=False)
class _Delivery:
    """A caller that waits for an update of the weights."""

    update: WeightUpdate
    weights: Weights
    done: "asyncio.Future[None]"


@dataclass(slots=True)
class _Inbox:
    """Requests that have arrived and are not handled yet."""

    waiting: list[_Ticket] = field(default_factory=list[_Ticket])
    released: list[str] = field(default_factory=list[str])
    updates: deque[_Delivery] = field(default_factory=deque[_Delivery])


class NativeEngine(Engine):
    """Samples turns with a native decoder, in this process.

    Args:
        model: The model; its weights are copied, so later training has no effect until `update_weights`.
        config: The engine's size and precision.
        schedule: Decides what a step works on; `ScheduleRecorder` and `ReplaySchedule` make runs repeatable.
        temperature_head: Whether the model's head chooses the temperature of each token.
        version: The version of the weights in `model`.

    Raises:
        ValueError: the capacity is less than one trajectory may need, or the model lacks a temperature head.
    """

    def __init__(
        self,
        model: Decoder,
        config: NativeConfig | None = None,
        *,
        schedule: EngineSchedule | None = None,
        temperature_head: bool = False,
        version: int = 0,
    ) -> None:
        config = config or NativeConfig()
        self._core = Core(model, config, temperature_head=temperature_head, version=version)
        self._capacity = config.capacity
        self._schedule = schedule or FreeSchedule()
        self._vocabulary = model.shape.vocabulary
        self._inbox = _Inbox()
        self._asking: set[str] = set()
        """Trajectories with a running turn."""
        self._running: dict[Drawing, _Ticket] = {}
        self._step = 0
        self._paused = False
        self._busy_seconds = 0.0
        self._update_seconds = 0.0
        self._fault: PalaestraError | None = None
        self._wake = asyncio.Event()
        self._driver: asyncio.Task[None] | None = None

    @property
    def context(self) -> int:
        """See `Engine`."""
        return self._core.context

    @property
    def fault(self) -> PalaestraError | None:
        """The error that ended the engine; every later request raises it."""
        return self._fault

    # Requests.

    async def generate(self, request: TurnRequest) -> Completion:
        """See `Engine`."""
        check_request(request, context=self.context, vocabulary=self._vocabulary)
        self._raise_fault()
        if request.trajectory in self._asking:
            raise ValueError(
                f"trajectory {request.trajectory!r} has a turn under way already; wait for it or cancel it"
            )
        loop = asyncio.get_running_loop()
        ticket = _Ticket(request, _turn(request), loop.create_future())
        self._inbox.waiting.append(ticket)
        self._asking.add(request.trajectory)
        self._rouse()
        timer = None if request.timeout is None else loop.call_later(request.timeout, self._expire, ticket)
        try:
            return await ticket.done
        except asyncio.CancelledError:
            ticket.given_up = True
            self._wake.set()
            raise
        finally:
            self._asking.discard(request.trajectory)
            if timer is not None:
                timer.cancel()

    def _expire(self, ticket: _Ticket) -> None:
        if not ticket.done.done():
            ticket.given_up = ticket.late = True
            ticket.done.set_exception(_late(ticket.request))
            self._wake.set()

    def release(self, trajectory: str) -> None:
        """See `Engine`."""
        if self._fault is None:
            self._inbox.released.append(trajectory)
            self._wake.set()

    async def update_weights(self, weights: Weights, version: int, *, in_flight: InFlight = "keep") -> None:
        """See `Engine`.

        The weights are read between two steps and must not change before this returns. With "wait", no new turn begins
        until the running ones have ended; while the engine is paused, they do not end.
        """
        self._raise_fault()
        delivery = _Delivery(
            WeightUpdate(version=version, in_flight=in_flight), weights, asyncio.get_running_loop().create_future()
        )
        self._inbox.updates.append(delivery)
        self._rouse()
        try:
            await delivery.done
        finally:
            if delivery in self._inbox.updates:
                self._inbox.updates.remove(delivery)

    async def pause(self) -> None:
        """See `Engine`."""
        self._paused = True

    async def resume(self) -> None:
        """See `Engine`."""
        self._paused = False
        self._rouse()

    def stats(self) -> EngineStats:
        """See `Engine`."""
        counts = self._core.counts
        wanted = [ticket.request for ticket in self._inbox.waiting if not ticket.given_up]
        return EngineStats(
            running=len(self._running),
            waiting=len(wanted) - self._core.room(wanted),  # the others get rows before the next step
            resident=self._core.resident(without=self._inbox.released),
            capacity=self._capacity,
            drawn=counts.drawn,
            prefilled=counts.prefilled,
            reused=counts.reused,
            busy_seconds=self._busy_seconds,
            version=self._core.version,
            weight_bytes=self._core.weight_bytes,
            cache_bytes=self._core.cache_bytes,
            update_seconds=self._update_seconds,
        )

    async def close(self) -> None:
        """See `Engine`."""
        if self._driver is not None:
            self._driver.cancel()
            await asyncio.wait([self._driver])
            self._driver = None
        self._fail(EngineError("the engine was closed; make a new one to draw with"), None)
        self._core.free()

    # The loop.

    def _rouse(self) -> None:
        if self._driver is None and self._fault is None:
            self._driver = asyncio.get_running_loop().create_task(self._drive(), name="native engine")
        self._wake.set()

    async def _drive(self) -> None:
        try:
            while True:
                while self._advance():
                    await asyncio.sleep(0)
                self._wake.clear()
                await self._wake.wait()
        except ReplayError as error:
            self._fail(error, None)
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            self._fail(EngineError(f"the engine failed in step {self._step} ({what}); make a new one"), error)

    def _advance(self) -> bool:
        """Run the next step, if there is one now."""
        plan = self._schedule.before(self._step, self._list_arrivals())
        if plan is None:
            return False
        self._forget(plan.forgotten)
        if plan.idle and not (plan.draws and self._running):
            return False
        self._follow(plan)
        if plan.draws and self._running:
            began = perf_counter()
            ended = self._core.step()
            self._busy_seconds += perf_counter() - began
            for one in ended:
                _settle(self._running.pop(one.drawing), one.result)
        self._step += 1
        return True

    def _list_arrivals(self) -> EngineArrivals:
        inbox = self._inbox
        wanted = [ticket for ticket in inbox.waiting if not ticket.given_up]
        return EngineArrivals(
            waiting=tuple(ticket.turn for ticket in wanted),
            room=self._core.room([ticket.request for ticket in wanted]),
            abandoned=tuple(ticket.turn for ticket in inbox.waiting if ticket.given_up),
            running=len(self._running),
            withdrawn=tuple(
                Withdrawal(turn=ticket.turn, late=ticket.late) for ticket in self._running.values() if ticket.given_up
            ),
            released=tuple(inbox.released),
            update=inbox.updates[0].update if inbox.updates else None,
            paused=self._paused,
        )

    def _forget(self, turns: Sequence[TurnKey]) -> None:
        for turn in turns:
            self._inbox.waiting.remove(next(one for one in self._inbox.waiting if one.turn == turn and one.given_up))

    def _follow(self, plan: EnginePlan) -> None:
        """Do what the plan puts before its step."""
        for withdrawal in plan.withdrawn:
            self._withdraw(withdrawal)
        for trajectory in plan.released:
            self._core.release(trajectory)
        self._inbox.released.clear()
        if plan.update is not None:
            self._update(self._inbox.updates.popleft())
        for turn in plan.admitted:
            self._admit(turn)

    def _withdraw(self, withdrawal: Withdrawal) -> None:
        ticket = next((one for one in self._running.values() if one.turn == withdrawal.turn), None)
        if ticket is None or ticket.drawing is None:
            raise ReplayError(
                f"step {self._step}: {withdrawal.turn} was withdrawn here when the run was recorded, and is not "
                "under way; replay with the weights and settings that were recorded"
            )
        del self._running[ticket.drawing]
        self._core.withdraw(ticket.drawing)
        if withdrawal.late and not ticket.done.done():
            ticket.done.set_exception(_late(ticket.request))

    def _update(self, delivery: _Delivery) -> None:
        update, began = delivery.update, perf_counter()
        try:
            self._core.update(delivery.weights, update.version, update.in_flight)
        except CheckpointError as error:
            if not delivery.done.done():
                delivery.done.set_exception(error)
        else:
            self._update_seconds = perf_counter() - began
            if not delivery.done.done():
                delivery.done.set_result(None)

    def _admit(self, turn: TurnKey) -> None:
        ticket = next(one for one in self._inbox.waiting if one.turn == turn)
        if not self._core.room([ticket.request]):
            raise ReplayError(
                f"step {self._step}: there is no room for {turn}, as there was when the run was recorded; "
                "replay with the rows and the capacity that were recorded"
            )
        self._inbox.waiting.remove(ticket)
        ticket.drawing = self._core.admit(ticket.request)
        self._running[ticket.drawing] = ticket

    # Failure and closing.

    def _raise_fault(self) -> None:
        if self._fault is not None:
            raise type(self._fault)(str(self._fault)) from self._fault.__cause__

    def _fail(self, fault: PalaestraError, cause: Exception | None) -> None:
        """Fail all waiting and later requests; the first error stays."""
        if self._fault is None:
            fault.__cause__ = cause
            self._fault = fault
        fault = self._fault
        waiting: list[asyncio.Future[Any]] = [
            *(ticket.done for ticket in (*self._inbox.waiting, *self._running.values())),
            *(delivery.done for delivery in self._inbox.updates),
        ]
        for done in waiting:
            if not done.done():
                error = type(fault)(str(fault))
                error.__cause__ = fault.__cause__
                done.set_exception(error)
        self._inbox = _Inbox()
        self._running.clear()


def _turn(request: TurnRequest) -> TurnKey:
    check = crc32(array("q", request.context))
    return TurnKey(trajectory=request.trajectory, place=len(request.context), check=check)


def _late(request: TurnRequest) -> WaitError:
    return WaitError(
        f"trajectory {request.trajectory!r} waited {request.timeout} s for its turn at place {len(request.context)}, "
        "and it was given up; allow more time, or draw fewer turns at once"
    )


def _settle(ticket: _Ticket, result: Completion | EngineError) -> None:
    if ticket.done.done():
        return
    if isinstance(result, EngineError):
        ticket.done.set_exception(result)
    else:
        ticket.done.set_result(result)
