"""The engine without its event loop: it admits turns, runs one pass through the model per step, and ends turns.

Results depend only on the order of calls, not on time or on arrivals between steps. Equal calls give equal bits on one
machine.

Axes: T tokens of a pass, B turns that get a token, C hidden, V vocabulary.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TypeAlias

import torch
from torch import Tensor

from palaestra.errors import EngineError
from palaestra.trainers.device import wait_for
from palaestra.trainers.engines.engine import Completion, InFlight, TurnRequest, Weights
from palaestra.trainers.engines.native.attention import Pass, SequenceSpan
from palaestra.trainers.engines.native.block_tables import BlockTablePass, reads_pages
from palaestra.trainers.engines.native.choices import TemperatureChoice, aligned, choice_noise, choose_temperatures
from palaestra.trainers.engines.native.config import NativeConfig
from palaestra.trainers.engines.native.drafts import Drafter
from palaestra.trainers.engines.native.draw import draw
from palaestra.trainers.engines.native.graphs import Graphs
from palaestra.trainers.engines.native.idle_cache import IdleKVCache
from palaestra.trainers.engines.native.invariant import InvariantFunctions, InvariantPass
from palaestra.trainers.engines.native.kernels import BLOCK_PLACES, CompiledPass
from palaestra.trainers.engines.native.pages import PLACES_ON_CUDA, PagedMemory
from palaestra.trainers.engines.native.prefixes import BLOCK, Holding, Prefixes, common_beginning
from palaestra.trainers.engines.native.setup import engine_setup
from palaestra.trainers.engines.native.turns import Drawing, EndedTurn
from palaestra.trainers.engines.native.weights import drawing_copy, load_weights, weight_bytes
from palaestra.trainers.engines.noise import noise_from
from palaestra.trainers.model.decoder import Decoder
from palaestra.trajectory import Stop

_PADDING_ON_CPU, _PADDING = 256, 16_384
"""The number of places that attention computes in about the time of one more call."""
_PLACES = 16
"""Places of a page that torch reads on a CPU."""


@dataclass(slots=True, kw_only=True)
class CoreCounts:
    """Token counts since the core was made."""

    drawn: int = 0
    prefilled: int = 0
    reused: int = 0
    guessed: int = 0
    """Draft tokens that passed through the model."""
    accepted: int = 0
    """Draft tokens that were correct."""


_Part: TypeAlias = tuple[Drawing, int]
"""A turn, and how many of its pending tokens pass through the model."""
_AnyPass: TypeAlias = Pass | BlockTablePass | CompiledPass | InvariantPass


class Core:
    """Admits turns, steps them through the model, and holds their keys and values; see the module.

    Args:
        model: The model; it is copied, so later training does not change the core.
        config: The size and precision.
        temperature_head: Whether the model's head chooses the temperature of each token.
        version: The version of the weights.
    """

    def __init__(
        self, model: Decoder, config: NativeConfig, *, temperature_head: bool = False, version: int = 0
    ) -> None:
        self._config = config
        setup = engine_setup(model.shape, config, device=model.lm_head.weight.device, temperature_head=temperature_head)
        self._device, self.context, flow = setup.device, setup.context, setup.flow
        self._padding = _PADDING_ON_CPU if self._device.type == "cpu" else _PADDING
        self._invariant, self._kernels = setup.invariant, setup.kernels
        if self._invariant is not None:
            functions = InvariantFunctions(self._invariant, flow.operands)
            self._model = drawing_copy(model, flow=flow, device=self._device, functions=functions)
        else:
            self._model = drawing_copy(model, flow=flow, device=self._device, operations=self._kernels)
        # Torch's attention on a CPU is slower in half precision, by more than the saved memory is worth.
        plain = self._device.type == "cpu" and self._kernels is None and self._invariant is None
        self._memory = PagedMemory(
            model.shape,
            tokens=config.capacity,
            sequences=config.rows,
            places=_PLACES if plain else BLOCK_PLACES if self._device.type == "cpu" else PLACES_ON_CUDA,
            dtype=torch.float32 if plain else flow.states,
            device=self._device,
            quantised=flow.rounds_keys_and_values,
        )
        self._head = self._model.temperature_head if temperature_head else None
        # A graph gives only logits, but the head needs the states. And a graph cannot know how many tokens each expert
        # gets.
        self._graphs = (
            Graphs(self._model, self._memory, turns=config.rows)
            if self._device.type == "cuda" and self._head is None and model.shape.experts is None
            else None
        )
        self._prefixes = Prefixes()
        self._idle = IdleKVCache(self._prefixes, self._memory)
        self.running: list[Drawing] = []
        self.version = version
        self.weight_bytes = weight_bytes(self._model)
        """Bytes of the weights, in all held forms."""
        self.counts = CoreCounts()

    @property
    def cache_bytes(self) -> int:
        """Bytes of the pages for keys and values."""
        return self._memory.bytes

    def resident(self, *, without: Iterable[str] = ()) -> int:
        """Tokens whose keys and values are held, except those held for idle trajectories among `without`."""
        running = sum(drawing.holding.held for drawing in self.running)
        return running + self._idle.tokens - self._idle.held(without)

    # Between steps.

    def room(self, waiting: Sequence[TurnRequest]) -> int:
        """How many of these turns, in order, could be admitted now."""
        reserved = sum(drawing.last for drawing in self.running)
        for count, request in enumerate(waiting):
            reserved += self._last(request)
            if len(self.running) + count == self._config.rows or reserved > self._config.capacity:
                return count
        return len(waiting)

    @torch.inference_mode()
    def admit(self, request: TurnRequest) -> Drawing:
        """Take a turn into the batch; the caller has checked that there is room."""
        drawing = Drawing(
            request=request,
            holding=self._idle.take(request.trajectory) or Holding(request.trajectory, []),
            last=self._last(request),
            noise=noise_from(request.noise, len(request.context)),
            drafter=Drafter(),
            stop=frozenset(request.sampling.stop),
        )
        self.running.append(drawing)
        self._idle.make_room(self._config.capacity - sum(drawing.last for drawing in self.running))
        self._resume(drawing.holding, list(request.context))
        return drawing

    def _last(self, request: TurnRequest) -> int:
        return min(len(request.context) + request.sampling.limit, self.context)

    def _resume(self, holding: Holding, context: list[int]) -> None:
        """Keep the held part of the trajectory's context."""
        common = common_beginning(holding.tokens, context)
        if common < len(holding.tokens):
            self._prefixes.remove(holding)
            # Keys and values of older weights serve a continued trajectory, but not one that begins anew.
            common = 0 if holding.private else common
        holding.tokens = context
        holding.held = min(common, len(context) - 1)
        holding.private = holding.private and holding.held > 0
        self._memory.cut(holding.pages, holding.held)

    @torch.inference_mode()
    def withdraw(self, drawing: Drawing) -> None:
        """End a running turn and discard it."""
        drawing.kept = False
        self._vacate(drawing)

    def release(self, trajectory: str) -> None:
        """Free everything held for a trajectory that has ended."""
        self._idle.drop(trajectory)
        for drawing in self.running:
            if drawing.request.trajectory == trajectory:
                drawing.kept = False

    @torch.inference_mode()
    def update(self, weights: Weights, version: int, in_flight: InFlight) -> None:
        """Use new weights from now on; with "wait", no turn is running.

        Raises:
            CheckpointError: the weights do not fit; nothing has changed.
        """
        load_weights(self._model, weights, version=version)
        wait_for(self._device)
        self.version = version
        if in_flight == "keep":
            self._idle.seal()
        else:
            self._idle.make_room(0)
        for drawing in self.running:
            holding = drawing.holding
            self._prefixes.remove(holding)
            if in_flight == "keep":
                holding.private = holding.private or holding.held > 0
            else:
                self._memory.release(holding.pages, unsound=True)  # old weights may have given NaN
                holding.pages = []
                holding.held, holding.coming, holding.private = 0, False, False

    def free(self) -> None:
        """Free all memory; afterwards only the counts are available."""
        self.running.clear()
        self._idle.make_room(0)
        self._graphs = None
        self._memory.free()
        for projection in self._model.projections():
            projection.packed = None
        if self._invariant is not None:
            self._model.use(None)
        self._model.to("meta")

    # A step.

    @torch.inference_mode()
    def step(self) -> list[EndedTurn]:
        """Run one pass through the model: a token for each turn that samples, and a share of the waiting contexts.

        Returns:
            The turns that ended in this step.
        """
        for drawing in self.running:
            if not drawing.holding.coming:
                self._begin(drawing.holding)
        singles, parts = self._share()
        if not singles and not parts:
            return []
        if self._config.drafts:
            self._guess(singles)
        for drawing, count in [*singles, *parts]:
            self._memory.extend(drawing.holding.pages, drawing.holding.held + count + len(drawing.guess))
        return self._draw(*self._pass(singles, parts))

    def _guess(self, singles: Sequence[_Part]) -> None:
        for drawing, _ in singles:
            tokens = drawing.holding.tokens
            most = min(self._config.drafts // len(singles), drawing.last - len(tokens) - 1)
            drawing.guess = drawing.drafter.guess(tokens, most)
            self.counts.guessed += len(drawing.guess)

    def _begin(self, holding: Holding) -> None:
        """Share the held part of an equal prefix, or wait for it if it is being computed."""
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
        self._memory.release(holding.pages)
        holding.pages = self._memory.share(other.pages, common)
        self._prefixes.remove(holding)
        holding.held, holding.private = common, False

    def _share(self) -> tuple[list[_Part], list[_Part]]:
        """The turns that pass one token, and those that pass several, each with their number."""
        singles: list[_Part] = []
        parts: list[_Part] = []
        budget = self._config.prefill
        for drawing in self.running:
            if not drawing.holding.coming:
                continue
            pending = drawing.pending
            if pending == 1:
                singles.append((drawing, 1))
            elif budget > 0:
                count = min(pending, budget)
                parts.append((drawing, count))
                budget -= count
        return singles, parts

    def _pass(
        self, singles: Sequence[_Part], parts: Sequence[_Part]
    ) -> tuple[Tensor, list[TemperatureChoice], list[Drawing]]:
        """The logits of the turns with no pending tokens left, the head's choices, and those turns."""
        drawings = [drawing for drawing, _ in singles]
        ids = [number for one in drawings for number in (one.holding.tokens[-1], *one.guess)]
        at = list(range(len(ids)))
        choices: list[TemperatureChoice] = []
        for drawing, count in parts:
            held = drawing.holding.held
            ids += drawing.holding.tokens[held : held + count]
            if count == drawing.pending:
                drawings.append(drawing)
                at.append(len(ids) - 1)
        spans = [
            SequenceSpan(pages=drawing.holding.pages, place=drawing.holding.held, count=count + len(drawing.guess))
            for drawing, count in [*singles, *parts]
        ]
        # A graph has one row per turn, so a single pending token of an unfinished context cannot be part of it.
        if self._graphs is not None and len(at) == len(spans) == len(ids):
            logits_BV = self._graphs.logits(ids, spans)
        else:
            hidden_BC = self._forward(ids, self._attend(spans), at)
            choices = self._choose(hidden_BC, drawings)
            logits_BV = self._model.logits(hidden_BC)
        for drawing, count in [*singles, *parts]:
            self.counts.prefilled += min(count, max(0, len(drawing.request.context) - drawing.holding.held))
            drawing.holding.held += count
        return logits_BV, choices, drawings

    def _attend(self, spans: Sequence[SequenceSpan]) -> _AnyPass:
        """The attention of a pass."""
        if self._invariant is not None:
            return InvariantPass(self._invariant, self._memory, spans)
        if self._kernels is not None:
            return CompiledPass(self._kernels, self._memory, spans)
        if reads_pages(self._memory):
            return BlockTablePass(self._memory, spans)
        return Pass(self._memory, spans, padding=self._padding)

    def _forward(self, ids: Sequence[int], attend: _AnyPass, at: Sequence[int]) -> Tensor:
        ids_T = torch.tensor(ids, device=self._device)
        wanted_B = torch.tensor(at, dtype=torch.long, device=self._device) if len(at) < len(ids) else None
        hidden_BC: Tensor = self._model(ids_T, attend.place_T, attend, wanted_B=wanted_B)
        return hidden_BC

    def _choose(self, hidden_BC: Tensor, drawing_B: Sequence[Drawing]) -> list[TemperatureChoice]:
        """The head's choice for the next token of each turn; empty without a head."""
        if self._head is None or not drawing_B:
            return []
        return choose_temperatures(
            self._head,
            hidden_BC,
            kept=[drawing.temperature for drawing in drawing_B],
            noise=[choice_noise(one.request.noise, len(one.holding.tokens)) for one in drawing_B],
        )

    def _draw(
        self, logits_BV: Tensor, choices: Sequence[TemperatureChoice], drawings: Sequence[Drawing]
    ) -> list[EndedTurn]:
        if not drawings:
            return []
        for drawing, choice in zip(drawings, choices, strict=False):  # there are none without a head
            drawing.choices.append(choice)
        drawing_B = [drawing for drawing in drawings for _ in range(1 + len(drawing.guess))]
        noise_B = [noise for drawing in drawings for noise in drawing.noise_for(1 + len(drawing.guess))]
        drawn_2B = draw(
            logits_BV,
            torch.tensor(noise_B, dtype=torch.float64, device=self._device),
            temperature_B=self._setting([drawing.temperature for drawing in drawing_B]),
            top_p_B=self._setting([drawing.request.sampling.top_p for drawing in drawing_B]),
            kernels=self._invariant or self._kernels,
        )
        ids, logprobs = drawn_2B.tolist()
        return self._settle(drawings, [int(number) for number in ids], logprobs)

    def _setting(self, values: Sequence[float]) -> Tensor | None:
        if all(value == 1 for value in values):
            return None
        return torch.tensor(values, dtype=torch.float64, device=self._device)

    def _settle(self, drawings: Sequence[Drawing], ids: Sequence[int], logprobs: Sequence[float]) -> list[EndedTurn]:
        """Give each turn its tokens, up to the first wrong draft, and end the turns that these complete."""
        ended: list[EndedTurn] = []
        row = 0
        for drawing in drawings:
            guess, drawing.guess = drawing.guess, []
            for place in range(len(guess) + 1):
                result = self._give(drawing, ids[row + place], logprobs[row + place])
                if result is not None:
                    ended.append(EndedTurn(drawing=drawing, result=result))
                    break
                if place == len(guess) or ids[row + place] != guess[place]:
                    break
                drawing.holding.held += 1
                self.counts.accepted += 1
            row += len(guess) + 1
        return ended

    def _give(self, drawing: Drawing, number: int, logprob: float) -> Completion | EngineError | None:
        """Give a turn a token; returns its result if the token ends it."""
        if not -torch.inf < logprob <= 0 or (drawing.choices and not isfinite(drawing.choices[-1].logprob)):
            fault = self._no_number(drawing)
            self.withdraw(drawing)
            return fault
        self.counts.drawn += 1
        del drawing.ahead[0]
        drawing.ids.append(number)
        drawing.logprobs.append(logprob)
        drawing.versions.append(self.version)
        drawing.holding.tokens.append(number)
        stopped = number in drawing.stop
        if not stopped and len(drawing.holding.tokens) < drawing.last:
            return None
        self._vacate(drawing)
        return _completion(drawing, "end" if stopped else "length")

    def _no_number(self, drawing: Drawing) -> EngineError:
        sound = not drawing.choices or isfinite(drawing.choices[-1].logprob)
        what = "logits" if sound else "temperatures"
        return EngineError(
            f"version {self.version} of the weights gives {what} that are no finite numbers, after "
            f"{len(drawing.holding.tokens)} tokens of trajectory {drawing.request.trajectory!r}; "
            "load weights that are sound, and ask again"
        )

    def _vacate(self, drawing: Drawing) -> None:
        """Remove a turn from the batch and keep its keys and values for the next turn; the last turn takes its row."""
        holding = drawing.holding
        holding.coming = False
        if drawing.kept:
            del holding.tokens[holding.held :]
            self._memory.cut(holding.pages, holding.held)
            if not holding.private:
                self._prefixes.add(holding)
            self._idle.put(holding)
        else:
            self._prefixes.remove(holding)
            self._memory.release(holding.pages, unsound=True)
        place = self.running.index(drawing)
        moved = self.running.pop()
        if moved is not drawing:
            self.running[place] = moved


def _completion(drawing: Drawing, stop: Stop) -> Completion:
    return Completion(
        ids=tuple(drawing.ids),
        logprobs=tuple(drawing.logprobs),
        versions=tuple(drawing.versions),
        stop=stop,
        choices=aligned(drawing.choices) if drawing.choices else None,
    )
