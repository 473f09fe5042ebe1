"""The engine without its event loop: turns are admitted, every step puts one pass through the model, turns end.

Everything here is a function of the order of calls: no clock, no arrival decides what is worked out with what. Equal
calls give equal bits on one machine.

Axes: T tokens of a pass, B turns that get a token, C hidden, V vocabulary.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TypeAlias

import torch
from torch import Tensor

from palaestra.errors import EngineError
from palaestra.record import record
from palaestra.trainers.device import resolve_device, resolve_precision, wait_for
from palaestra.trainers.engines.engine import Completion, InFlight, TurnRequest, Weights
from palaestra.trainers.engines.native.attention import Chunk, Pass, runs_of
from palaestra.trainers.engines.native.choices import TemperatureChoice, aligned, choice_noise, choose_temperatures
from palaestra.trainers.engines.native.config import NativeConfig
from palaestra.trainers.engines.native.draw import draw
from palaestra.trainers.engines.native.graphs import Graphs
from palaestra.trainers.engines.native.idle_cache import IdleKVCache
from palaestra.trainers.engines.native.invariant import InvariantFunctions, InvariantPass, kernels_for
from palaestra.trainers.engines.native.kernels import HEAD_DIMS, CompiledPass, Kernels, kernels
from palaestra.trainers.engines.native.memory import RowMemory
from palaestra.trainers.engines.native.prefixes import BLOCK, Holding, Prefixes, common_beginning
from palaestra.trainers.engines.native.weights import drawing_copy, load_weights, weight_bytes
from palaestra.trainers.engines.noise import noise_from
from palaestra.trainers.flow import flow_of
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.products import check_sizes
from palaestra.trajectory import Stop

_PADDING_ON_CPU, _PADDING = 256, 16_384
"""Places that attention works on in about the time that one more call of it takes."""


@dataclass(slots=True, eq=False)
class Drawing:
    """A turn that has a row of the batch."""

    request: TurnRequest
    holding: Holding
    """Its tokens are the context and what was drawn."""
    last: int
    """Tokens that the trajectory may come to have."""
    noise: Iterator[float]
    stop: frozenset[int]
    kept: bool = True
    """Whether what was worked out is held when it ends."""
    ids: list[int] = field(default_factory=list[int])
    logprobs: list[float] = field(default_factory=list[float])
    versions: list[int] = field(default_factory=list[int])
    choices: list[TemperatureChoice] = field(default_factory=list[TemperatureChoice])
    """Of its tokens, where a temperature head chooses."""

    @property
    def temperature(self) -> float:
        """That of the last token; of the first, the one that the request begins with."""
        return self.choices[-1].temperature if self.choices else self.request.sampling.temperature

    @property
    def pending(self) -> int:
        """Tokens that have not been put through yet; at least 1."""
        return len(self.holding.tokens) - self.holding.held


@record
class EndedTurn:
    """A turn that has ended, and how."""

    drawing: Drawing
    result: Completion | EngineError


@dataclass(slots=True, kw_only=True)
class CoreCounts:
    """Tokens since the core was made."""

    drawn: int = 0
    prefilled: int = 0
    reused: int = 0


_Part: TypeAlias = tuple[int, int]
"""A row, and how many of its pending tokens."""
_AnyPass: TypeAlias = Pass | CompiledPass | InvariantPass


class Core:
    """See the module.

    Args:
        model: Copied; training it later changes nothing here.
        config: How large.
        temperature_head: Whether the model's head chooses the temperature of each token.
    """

    def __init__(self, model: Decoder, config: NativeConfig, *, temperature_head: bool = False) -> None:
        self._config = config
        self._device = (
            model.lm_head.weight.device if config.device is None else torch.device(resolve_device(config.device))
        )
        self._padding = _PADDING_ON_CPU if self._device.type == "cpu" else _PADDING
        self.context = min(config.context or model.shape.context, model.shape.context)
        if config.capacity < self.context:
            raise ValueError(
                f"capacity={config.capacity}: one trajectory may have {self.context} tokens; "
                "raise the capacity or lower the context"
            )
        precision = resolve_precision(config.precision, self._device.type)
        flow = flow_of(precision, invariant=config.invariant)
        if flow.operands is not None:
            check_sizes(flow.operands, model.shape, self._device)
        self._invariant = kernels_for(model.shape, self._device) if flow.fixed_order else None
        self._kernels: Kernels | None = None
        if self._invariant is not None:
            functions = InvariantFunctions(self._invariant, flow.operands)
            self._model = drawing_copy(model, flow=flow, device=self._device, functions=functions)
        else:
            known = self._device.type == "cpu" and model.shape.head_dim in HEAD_DIMS
            self._kernels = kernels() if known else None
            self._model = drawing_copy(model, flow=flow, device=self._device, operations=self._kernels)
        # Torch's attention on a processor is slower in half precision, by more than memory it saves.
        plain = self._device.type == "cpu" and self._kernels is None and self._invariant is None
        self._memory = RowMemory(
            model.shape,
            rows=config.rows,
            context=self.context,
            dtype=torch.float32 if plain else flow.keys_and_values,
            device=self._device,
        )
        self._head = self._model.temperature_head if temperature_head else None
        if temperature_head and self._head is None:
            raise ValueError("temperature_head=True: the model has none; give it one, or leave the setting out")
        if temperature_head and self._invariant is not None:
            raise ValueError(
                "temperature_head=True, invariant=True: the head is computed by torch, so what it chooses depends on "
                "the batch; leave one of the two out"
            )
        # A graph gives logits alone, and the head needs the states behind them.
        self._graphs = Graphs(self._model, self._memory) if self._device.type == "cuda" and self._head is None else None
        self._prefixes = Prefixes()
        self._shelf = IdleKVCache(self._prefixes)
        self.running: list[Drawing] = []
        """By row."""
        self.version = 0
        self.counts = CoreCounts()

    @property
    def weight_bytes(self) -> int:
        """Bytes of the weights, in each form that is held."""
        return weight_bytes(self._model)

    def resident(self, *, without: Iterable[str] = ()) -> int:
        """Tokens whose keys and values are held, apart from what is held for idle trajectories among `without`."""
        running = sum(drawing.holding.held for drawing in self.running)
        return running + self._shelf.tokens - self._shelf.held(without)

    # Between steps

    def room(self, waiting: Sequence[TurnRequest]) -> int:
        """How many of these, from the first on, could be admitted now."""
        reserved = sum(drawing.last for drawing in self.running)
        for count, request in enumerate(waiting):
            reserved += self._last(request)
            if len(self.running) + count == self._config.rows or reserved > self._config.capacity:
                return count
        return len(waiting)

    @torch.inference_mode()
    def admit(self, request: TurnRequest) -> Drawing:
        """Give a turn a row; there is room for it."""
        drawing = Drawing(
            request=request,
            holding=self._resume(request),
            last=self._last(request),
            noise=noise_from(request.noise, len(request.context)),
            stop=frozenset(request.sampling.stop),
        )
        self.running.append(drawing)
        self._shelf.make_room(self._config.capacity - sum(drawing.last for drawing in self.running))
        return drawing

    def _last(self, request: TurnRequest) -> int:
        return min(len(request.context) + request.sampling.limit, self.context)

    def _resume(self, request: TurnRequest) -> Holding:
        """What is held of the trajectory's context, moved into the next row."""
        holding = self._shelf.take(request.trajectory) or Holding(request.trajectory, [])
        context = list(request.context)
        common = common_beginning(holding.tokens, context)
        if common < len(holding.tokens):
            self._prefixes.remove(holding)
            # What other weights made serves a trajectory that goes on; one that begins anew has nothing of theirs.
            common = 0 if holding.private else common
        holding.tokens = context
        holding.held = min(common, len(context) - 1)
        holding.private = holding.private and holding.held > 0
        holding.row = len(self.running)
        if holding.stored is not None:
            self._memory.widen(holding.held, len(self.running))
            self._memory.put(holding.row, holding.stored, holding.held)
            holding.stored = None
        return holding

    @torch.inference_mode()
    def withdraw(self, drawing: Drawing) -> None:
        """End a turn under way; nothing of it is kept."""
        drawing.kept = False
        self._vacate(drawing)

    def release(self, trajectory: str) -> None:
        """The trajectory has ended."""
        self._shelf.drop(trajectory)
        for drawing in self.running:
            if drawing.request.trajectory == trajectory:
                drawing.kept = False

    @torch.inference_mode()
    def update(self, weights: Weights, version: int, in_flight: InFlight) -> None:
        """Work with new weights from now on; under "wait" no turn is under way.

        Raises:
            CheckpointError: they do not fit; everything is as it was.
        """
        load_weights(self._model, weights, version=version)
        wait_for(self._device)
        self.version = version
        if in_flight == "keep":
            self._shelf.seal()
        else:
            self._shelf.make_room(0)
        for row, drawing in enumerate(self.running):
            holding = drawing.holding
            self._prefixes.remove(holding)
            if in_flight == "keep":
                holding.private = holding.private or holding.held > 0
            else:
                self._memory.wipe(row)
                holding.held, holding.coming, holding.private = 0, False, False

    def free(self) -> None:
        """Give all memory back; only counts can be asked for afterwards."""
        self.running.clear()
        self._shelf.make_room(0)
        self._graphs = None
        self._memory.free()
        for projection in self._model.projections():
            projection.packed = None
        if self._invariant is not None:
            self._model.use(None)
        self._model.to("meta")

    # A step

    @torch.inference_mode()
    def step(self) -> list[EndedTurn]:
        """Put one pass through the model: a token for each turn that draws, and a share of the contexts that wait.

        Returns:
            The turns that ended with it.
        """
        for drawing in self.running:
            if not drawing.holding.coming:
                self._begin(drawing.holding)
        singles, parts = self._share()
        if not singles and not parts:
            return []
        self._memory.widen(
            max(self.running[row].holding.held + count for row, count in [*singles, *parts]), len(self.running)
        )
        return self._draw(*self._pass(singles, parts))

    def _begin(self, holding: Holding) -> None:
        """Take over what is held of a context that begins alike, or wait for it where it is on its way."""
        found = self._prefixes.find(holding.tokens, without=holding)
        if found is not None:
            other, common = found[0], min(found[1], len(holding.tokens) - 1)
            if common >= holding.held + BLOCK:
                if other.held < common:
                    return
                self._take_over(other, common, holding)
        holding.coming = True
        self.counts.reused += holding.held
        if not holding.private:
            self._prefixes.add(holding)

    def _take_over(self, other: Holding, common: int, holding: Holding) -> None:
        assert holding.row is not None
        self._memory.widen(common, len(self.running))
        if other.row is not None:
            self._memory.copy(other.row, holding.row, common)
        else:
            assert other.stored is not None
            self._memory.put(holding.row, other.stored, common)
        self._prefixes.remove(holding)
        holding.held, holding.private = common, False

    def _share(self) -> tuple[list[_Part], list[_Part]]:
        """The rows that put one token through, and those that put several through, with how many."""
        singles: list[_Part] = []
        parts: list[_Part] = []
        budget = self._config.prefill
        for row, drawing in enumerate(self.running):
            if not drawing.holding.coming:
                continue
            pending = drawing.pending
            if pending == 1:
                singles.append((row, 1))
            elif budget > 0:
                count = min(pending, budget)
                parts.append((row, count))
                budget -= count
        return singles, parts

    def _pass(
        self, singles: Sequence[_Part], parts: Sequence[_Part]
    ) -> tuple[Tensor, list[TemperatureChoice], list[Drawing]]:
        """The logits of the turns that have come to the end of their tokens, what the head chooses, and those turns."""
        drawing_B = [self.running[row] for row, _ in singles]
        ids = [drawing.holding.tokens[-1] for drawing in drawing_B]
        at = list(range(len(ids)))
        choices: list[TemperatureChoice] = []
        for row, count in parts:
            drawing = self.running[row]
            held = drawing.holding.held
            ids += drawing.holding.tokens[held : held + count]
            if count == drawing.pending:
                drawing_B.append(drawing)
                at.append(len(ids) - 1)
        if self._graphs is not None and len(singles) == len(self.running):
            logits_BV = self._graphs.logits(ids, [drawing.holding.held + 1 for drawing in drawing_B])
        else:
            hidden_BC = self._forward(ids, self._attend(singles, parts), at)
            choices = self._choose(hidden_BC, drawing_B)
            logits_BV = self._model.logits(hidden_BC)
        for row, count in [*singles, *parts]:
            drawing = self.running[row]
            self.counts.prefilled += min(count, max(0, len(drawing.request.context) - drawing.holding.held))
            drawing.holding.held += count
        return logits_BV, choices, drawing_B

    def _attend(self, singles: Sequence[_Part], parts: Sequence[_Part]) -> _AnyPass:
        """How the tokens of a pass see each other."""
        held = [drawing.holding.held for drawing in self.running]
        if self._kernels is not None or self._invariant is not None:
            both = [*singles, *parts]
            rows = [row for row, count in both for _ in range(count)]
            places = [place for row, count in both for place in range(held[row], held[row] + count)]
            if self._invariant is not None:
                return InvariantPass(self._invariant, self._memory, rows, places)
            assert self._kernels is not None
            return CompiledPass(self._kernels, self._memory, rows, places)
        chunks: list[Chunk] = []
        start = len(singles)
        for row, count in parts:
            chunks.append(Chunk(start=start, row=row, place=held[row], count=count))
            start += count
        rows = [row for row, _ in singles]
        return Pass(self._memory, runs_of(rows, [held[row] + 1 for row in rows], padding=self._padding), chunks)

    def _forward(self, ids: Sequence[int], attend: _AnyPass, at: Sequence[int]) -> Tensor:
        ids_T = torch.tensor(ids, device=self._device)
        wanted_B = torch.tensor(at, dtype=torch.long, device=self._device) if len(at) < len(ids) else None
        hidden_BC: Tensor = self._model(ids_T, attend.place_T, attend, wanted_B=wanted_B)
        return hidden_BC

    def _choose(self, hidden_BC: Tensor, drawing_B: Sequence[Drawing]) -> list[TemperatureChoice]:
        """What the head chooses for the token that each turn draws now; nothing where no head chooses."""
        if self._head is None or not drawing_B:
            return []
        return choose_temperatures(
            self._head,
            hidden_BC,
            kept=[drawing.temperature for drawing in drawing_B],
            noise=[choice_noise(one.request.noise, len(one.holding.tokens)) for one in drawing_B],
        )

    def _draw(
        self, logits_BV: Tensor, choices: Sequence[TemperatureChoice], drawing_B: Sequence[Drawing]
    ) -> list[EndedTurn]:
        if not drawing_B:
            return []
        for drawing, choice in zip(drawing_B, choices, strict=False):  # there are none where no head chooses
            drawing.choices.append(choice)
        noise_B = [next(drawing.noise) for drawing in drawing_B]
        drawn_2B = draw(
            logits_BV,
            torch.tensor(noise_B, dtype=torch.float64, device=self._device),
            temperature_B=self._setting([drawing.temperature for drawing in drawing_B]),
            top_p_B=self._setting([drawing.request.sampling.top_p for drawing in drawing_B]),
            kernels=self._invariant or self._kernels,
        )
        ids, logprobs = drawn_2B.tolist()
        return self._settle(drawing_B, [int(number) for number in ids], logprobs)

    def _setting(self, values: Sequence[float]) -> Tensor | None:
        if all(value == 1 for value in values):
            return None
        return torch.tensor(values, dtype=torch.float64, device=self._device)

    def _settle(self, drawing_B: Sequence[Drawing], ids: Sequence[int], logprobs: Sequence[float]) -> list[EndedTurn]:
        """Give each turn its token, and end those that it ends."""
        ended: list[EndedTurn] = []
        for drawing, number, logprob in zip(drawing_B, ids, logprobs, strict=True):
            if not -torch.inf < logprob <= 0 or (drawing.choices and not isfinite(drawing.choices[-1].logprob)):
                ended.append(EndedTurn(drawing=drawing, result=self._no_number(drawing)))
                self.withdraw(drawing)
                continue
            self.counts.drawn += 1
            drawing.ids.append(number)
            drawing.logprobs.append(logprob)
            drawing.versions.append(self.version)
            drawing.holding.tokens.append(number)
            stopped = number in drawing.stop
            if stopped or len(drawing.holding.tokens) == drawing.last:
                ended.append(EndedTurn(drawing=drawing, result=_completion(drawing, "end" if stopped else "length")))
                self._vacate(drawing)
        return ended

    def _no_number(self, drawing: Drawing) -> EngineError:
        sound = not drawing.choices or isfinite(drawing.choices[-1].logprob)
        what = "logits" if sound else "temperatures"
        return EngineError(
            f"version {self.version} of the weights gives {what} that are no finite numbers, after "
            f"{len(drawing.holding.tokens)} tokens of trajectory {drawing.request.trajectory!r}; "
            "load weights that are sound, and ask again"
        )

    def _vacate(self, drawing: Drawing) -> None:
        """Free a turn's row, holding what it has for the trajectory's next one; the last row moves into its place."""
        holding = drawing.holding
        row = holding.row
        assert row is not None
        holding.row, holding.coming = None, False
        if drawing.kept:
            del holding.tokens[holding.held :]
            holding.stored = self._memory.take(row, holding.held)
            if not holding.private:
                self._prefixes.add(holding)
            self._shelf.put(holding)
        else:
            self._prefixes.remove(holding)
            self._memory.wipe(row)
        moved = self.running.pop()
        if moved is not drawing:
            assert moved.holding.row is not None
            self._memory.copy(moved.holding.row, row, moved.holding.held)
            moved.holding.row = row
            self.running[row] = moved


def _completion(drawing: Drawing, stop: Stop) -> Completion:
    return Completion(
        ids=tuple(drawing.ids),
        logprobs=tuple(drawing.logprobs),
        versions=tuple(drawing.versions),
        stop=stop,
        choices=aligned(drawing.choices) if drawing.choices else None,
    )
