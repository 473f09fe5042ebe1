"""The core against a decoder that works out one trajectory at a time, a token at a time."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from decoders import tiny
from engines.plain import Memory, distributions, processed, telling
from palaestra.errors import CheckpointError, EngineError
from palaestra.seeding import Stream
from palaestra.trainers.engines.engine import Completion, InFlight, Sampling, TurnRequest
from palaestra.trainers.engines.native.config import NativeConfig
from palaestra.trainers.engines.native.core import _PLACES, Core
from palaestra.trainers.engines.native.prefixes import BLOCK
from palaestra.trainers.engines.native.turns import Drawing, EndedTurn
from palaestra.trainers.engines.noise import noise_at, noise_key
from palaestra.trainers.model.decoder import Decoder

SHAPE = tiny(vocabulary=24, hidden=16, heads=4, kv_heads=2, head_dim=4, mlp=16, context=96)
PROMPTS = [tuple((3 * i * i + i + p) % 24 for i in range(length)) for p, length in enumerate((5, 20, 20, 33))]
PROMPTS[2] = (*PROMPTS[1][:12], *PROMPTS[2][12:])  # begins like the one before


@cache
def decoder(seed: int) -> Decoder:
    return telling(SHAPE, seed=seed)


def weights(seed: int) -> dict[str, torch.Tensor]:
    return dict(decoder(seed).state_dict())


PICK = st.integers(0, 99)


def request(trajectory: str, context: tuple[int, ...], **sampling: Any) -> TurnRequest:
    settings: dict[str, Any] = {"limit": 6, "stop": (), **sampling}
    chosen = Sampling(**settings)
    return TurnRequest(trajectory=trajectory, context=context, sampling=chosen, noise=noise_key(trajectory))


@dataclass
class Shadow:
    """What must be held for a trajectory, worked out by itself."""

    memory: Memory = field(default_factory=Memory)
    old: bool = False
    """Whether weights before the present ones had a share."""
    tokens: tuple[int, ...] = ()


class Oracle(RuleBasedStateMachine):
    """Any order of turns, steps, updates, withdrawals and releases."""

    @initialize(
        rows=st.integers(1, 4), capacity=st.sampled_from([96, 150, 1000]), prefill=st.sampled_from([7, 16, 1000])
    )
    def begin(self, rows: int, capacity: int, prefill: int) -> None:
        self.config = NativeConfig(rows=rows, capacity=capacity, prefill=prefill)
        self.core = Core(decoder(0), self.config)
        self.seed = self.version = self.count = 0
        self.waiting: list[TurnRequest] = []
        self.running: dict[Drawing, Shadow] = {}
        self.idle: dict[str, Shadow] = {}
        self.contexts: dict[str, tuple[int, ...]] = {}
        self.ask(PROMPTS[1], tail=1, limit=3, stop=False, temperature=1.0, top_p=1.0, several=2, steps=5)

    # What is asked of it

    @rule(
        prompt=st.sampled_from(PROMPTS),
        tail=st.integers(0, 2),
        limit=st.integers(1, 9),
        stop=st.booleans(),
        temperature=st.sampled_from([1.0, 0.7, 2.0]),
        top_p=st.sampled_from([1.0, 0.6]),
        several=st.integers(1, 3),
        steps=st.integers(0, 12),
    )
    def ask(
        self,
        prompt: tuple[int, ...],
        tail: int,
        limit: int,
        stop: bool,
        temperature: float,
        top_p: float,
        several: int,
        steps: int,
    ) -> None:
        for _ in range(several):
            self.count += 1
            new = request(
                f"t{self.count}",
                (*prompt, *range(tail)),
                limit=limit,
                stop=(1, 2, 3) if stop else (),
                temperature=temperature,
                top_p=top_p,
            )
            self.waiting.append(new)
        self.work(steps)

    @precondition(lambda self: self.free())
    @rule(
        pick=PICK,
        more=st.integers(0, 5),
        rewritten=st.booleans(),
        cut=PICK,
        limit=st.integers(1, 9),
        steps=st.integers(0, 12),
    )
    def go_on(self, pick: int, more: int, rewritten: bool, cut: int, limit: int, steps: int) -> None:
        trajectory = picked(self.free(), pick)
        context = self.contexts[trajectory]
        if rewritten:
            cut %= len(context)
            context = (*context[:cut], (context[cut] + 1) % 24)
        context = (*context, *((7 * i + len(context)) % 24 for i in range(more)))
        if len(context) < SHAPE.context:
            self.waiting.append(request(trajectory, context, limit=limit))
        self.work(steps)

    def free(self) -> list[str]:
        taken = {one.trajectory for one in self.waiting} | {d.request.trajectory for d in self.running}
        return [name for name in self.contexts if name not in taken]

    @precondition(lambda self: self.running)
    @rule(pick=PICK)
    def withdraw(self, pick: int) -> None:
        drawing = picked(list(self.running), pick)
        self.core.withdraw(drawing)
        del self.running[drawing]
        self.contexts.pop(drawing.request.trajectory, None)

    @precondition(lambda self: self.contexts)
    @rule(pick=PICK)
    def release(self, pick: int) -> None:
        trajectory = picked(list(self.contexts), pick)
        self.core.release(trajectory)
        self.idle.pop(trajectory, None)

    @rule(in_flight=st.sampled_from(["keep", "keep", "retract", "wait"]), steps=st.integers(0, 12))
    def update(self, in_flight: InFlight, steps: int) -> None:
        if in_flight == "wait" and self.running:
            return
        self.version += 1
        self.seed = self.version % 3
        self.core.update(weights(self.seed), self.version, in_flight)
        for shadow in [*self.idle.values(), *self.running.values()]:
            shadow.old = shadow.memory.length > 0
        if in_flight != "keep":
            self.idle.clear()
            for shadow in self.running.values():
                shadow.memory, shadow.old = Memory(), False
        self.work(steps)

    # What it does

    def work(self, steps: int) -> None:
        for _ in range(steps):
            for _ in range(self.core.room(self.waiting)):
                self.admit(self.waiting.pop(0))
            if self.running:
                self.step()

    def admit(self, new: TurnRequest) -> None:
        drawing = self.core.admit(new)
        shadow = self.idle.pop(new.trajectory, None) or Shadow()
        if shadow.tokens != new.context[: len(shadow.tokens)] or len(shadow.tokens) >= len(new.context):
            shadow = Shadow(memory=shortened(shadow, new.context))
        self.running[drawing] = shadow
        reserved = sum(min(len(d.request.context) + d.request.sampling.limit, SHAPE.context) for d in self.running)
        assert reserved <= self.config.capacity
        while self.count_places() > self.config.capacity - reserved:
            del self.idle[next(iter(self.idle))]

    def count_places(self) -> int:
        """Of the pages of idle trajectories, which are given back whole."""
        return sum(-(-one.memory.length // _PLACES) * _PLACES for one in self.idle.values())

    def step(self) -> None:
        tokens = {drawing: list(drawing.holding.tokens) for drawing in self.running}
        drawn = {drawing: len(drawing.ids) for drawing in self.running}
        ended = {one.drawing: one.result for one in self.core.step()}
        assert ended.keys() <= self.running.keys()
        for drawing, shadow in list(self.running.items()):
            holding = drawing.holding
            if shadow.old and not holding.private:
                # Something that begins alike and was made by the present weights had more of it.
                assert holding.held >= shadow.memory.length + BLOCK
                shadow.memory, shadow.old = Memory(), False
            new = tokens[drawing][shadow.memory.length : holding.held]
            logits_TV = torch.empty(0)
            if new:
                logits_TV = distributions(decoder(self.seed), new, shadow.memory)
            assert shadow.memory.length == holding.held
            if len(drawing.ids) > drawn[drawing]:
                assert holding.held == len(tokens[drawing])
                self.check_token(drawing, len(tokens[drawing]), logits_TV[-1:])
            shadow.tokens = tuple(tokens[drawing][: holding.held])
            if drawing in ended:
                del self.running[drawing]
                self.end(drawing, shadow, ended[drawing])

    def check_token(self, drawing: Drawing, place: int, logits_1V: torch.Tensor) -> None:
        logp_V = processed(logits_1V, drawing.request.sampling)[0]
        number = drawing.ids[-1]
        assert drawing.logprobs[-1] == pytest.approx(float(logp_V[number]), abs=1e-4)
        assert drawing.versions[-1] == self.version
        below_V = logp_V.exp().double().cumsum(0)
        noise = noise_at(drawing.request.noise, place)
        assert float(below_V[number]) >= noise - 1e-4
        assert float(below_V[number] - logp_V[number].exp()) <= noise + 1e-4

    def end(self, drawing: Drawing, shadow: Shadow, result: object) -> None:
        asked = drawing.request
        assert isinstance(result, Completion)
        assert len(result.ids) == len(result.logprobs) == len(result.versions) <= asked.sampling.limit
        assert not set(result.ids[:-1]) & set(asked.sampling.stop)
        full = len(result.ids) == min(asked.sampling.limit, SHAPE.context - len(asked.context))
        stopped = result.ids[-1] in asked.sampling.stop
        assert result.stop == ("end" if stopped else "length")
        assert stopped or full
        self.contexts[asked.trajectory] = (*asked.context, *result.ids)
        if drawing.kept:
            self.idle[asked.trajectory] = shadow

    @invariant()
    def what_is_held_is_within_the_capacity(self) -> None:
        if not hasattr(self, "core"):
            return
        shadows = [*self.idle.values(), *self.running.values()]
        assert self.core.resident() <= self.config.capacity
        assert len(self.core.running) == len(self.running) <= self.config.rows
        memory = self.core._memory
        used = {page for drawing in self.running for page in drawing.holding.pages}
        used |= {page for holding in self.core._idle._holdings.values() for page in holding.pages}
        assert memory.unused == len(memory._users) - 1 - len(used), "every other page is there to be taken"
        held = sum(drawing.holding.held for drawing in self.running)
        assert self.core.resident() == held + sum(one.memory.length for one in self.idle.values())
        assert len(shadows) == len(self.idle) + len(self.running)


def shortened(shadow: Shadow, context: tuple[int, ...]) -> Memory:
    """What of it serves a context that does not go on from it: what is alike, unless older weights made it."""
    common = 0
    while common < min(len(shadow.tokens), len(context) - 1) and shadow.tokens[common] == context[common]:
        common += 1
    memory = Memory()
    if not shadow.old and common:
        memory.layers = {layer: (k[:common], v[:common]) for layer, (k, v) in shadow.memory.layers.items()}
    return memory


def picked(names: list[Any], pick: int) -> Any:
    return names[pick % len(names)]


TestOracle = Oracle.TestCase
TestOracle.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)


@pytest.mark.parametrize("seed", range(5))
def test_long_runs_are_what_the_oracle_says(seed: int) -> None:
    stream = Stream.root("runs of the core", seed)
    oracle = Oracle()
    oracle.begin(rows=stream.between(2, 4), capacity=stream.choice([96, 200, 1000]), prefill=stream.choice([9, 1000]))
    for _ in range(45):
        steps, pick = stream.below(10), stream.below(1000)
        kind = stream.weighted_choice([("ask", 4), ("go on", 5), ("update", 2), ("withdraw", 1), ("release", 1)])
        if kind == "ask":
            oracle.ask(
                stream.choice(PROMPTS),
                tail=stream.below(3),
                limit=stream.between(1, 9),
                stop=stream.chance(50),
                temperature=stream.choice([0.7, 1.0]),
                top_p=stream.choice([0.6, 1.0]),
                several=stream.between(1, 3),
                steps=steps,
            )
        elif kind == "go on" and oracle.free():
            oracle.go_on(pick, stream.below(6), stream.chance(25), stream.below(1000), stream.between(1, 9), steps)
        elif kind == "update":
            oracle.update(stream.choice(["keep", "keep", "retract", "wait"]), steps)
        elif kind == "withdraw" and oracle.running:
            oracle.withdraw(pick)
        elif kind == "release" and oracle.contexts:
            oracle.release(pick)
        oracle.what_is_held_is_within_the_capacity()


# What is shared


def finish(core: Core) -> list[Completion]:
    """Step until nothing is under way."""
    done: list[Completion] = []
    while core.running:
        for one in core.step():
            assert isinstance(one.result, Completion)
            done.append(one.result)
    return done


def agrees(turn: Completion, asked: TurnRequest, seed: int) -> bool:
    logp_TV = processed(distributions(decoder(seed), (*asked.context, *turn.ids)[:-1]), asked.sampling)
    wanted_T = logp_TV[len(asked.context) - 1 :][range(len(turn.ids)), list(turn.ids)]
    return torch.allclose(torch.tensor(turn.logprobs), wanted_T, atol=1e-4)


@pytest.fixture
def core() -> Core:
    return Core(decoder(0), NativeConfig(rows=8, capacity=1000))


PROMPT = PROMPTS[3]


def test_a_prompt_that_a_group_shares_is_put_through_once(core: Core) -> None:
    group = [request(f"g{i}", PROMPT) for i in range(6)]
    for one in group:
        core.admit(one)
    finish(core)
    # All but the last token of it: each needs the logits behind that one.
    assert core.counts.prefilled == len(PROMPT) + 5
    assert core.counts.reused == 5 * (len(PROMPT) - 1)
    assert core.counts.drawn == 6 * 6


@pytest.mark.parametrize("prefill", [5, 1000])
def test_members_that_come_later_share_it_too_at_any_pace(prefill: int) -> None:
    core = Core(decoder(0), NativeConfig(rows=8, capacity=1000, prefill=prefill))
    group = [request(f"g{i}", PROMPT, limit=30) for i in range(4)]
    for one in group:
        core.admit(one)
        core.step()
    finish(core)
    assert core.counts.prefilled == len(PROMPT) + 3
    late = request("late", PROMPT)
    core.admit(late)
    (turn,) = finish(core)
    assert core.counts.prefilled == len(PROMPT) + 4
    assert agrees(turn, late, 0)


def test_only_what_is_alike_is_shared(core: Core) -> None:
    for i, own in enumerate((1, 2, 3)):
        core.admit(request(f"g{i}", (*PROMPT[:20], own, *PROMPT[20:30])))
    finish(core)
    assert core.counts.prefilled == 31 + 11 + 11
    assert core.counts.reused == 40


def test_a_trajectory_that_goes_on_is_read_from_where_it_stopped(core: Core) -> None:
    core.admit(request("t", PROMPT))
    (turn,) = finish(core)
    longer = request("t", (*PROMPT, *turn.ids, 1, 2, 3))
    core.admit(longer)
    (second,) = finish(core)
    assert core.counts.prefilled == len(PROMPT) + 4  # the last token of the turn had not been put through
    assert agrees(second, longer, 0)


@pytest.mark.parametrize("in_flight", ["keep", "retract", "wait"])
def test_nothing_of_older_weights_is_shared_with_another_trajectory(core: Core, in_flight: InFlight) -> None:
    core.admit(request("old", PROMPT))
    finish(core)
    core.update(weights(1), 1, in_flight)
    before = core.counts.prefilled
    new = request("new", PROMPT)
    core.admit(new)
    (turn,) = finish(core)
    assert core.counts.prefilled == before + len(PROMPT)
    assert set(turn.versions) == {1}
    assert agrees(turn, new, 1)


def test_a_turn_under_way_shares_nothing_after_an_update(core: Core) -> None:
    core.admit(request("old", PROMPT, limit=20))
    core.step()
    core.update(weights(1), 1, "keep")
    new = request("new", PROMPT)
    core.admit(new)
    done = finish(core)
    assert core.counts.prefilled == 2 * len(PROMPT)
    assert agrees(min(done, key=lambda turn: len(turn.ids)), new, 1)


def test_a_trajectory_keeps_what_older_weights_made_of_it_only_under_keep() -> None:
    for in_flight, kept in (("keep", True), ("retract", False), ("wait", False)):
        core = Core(decoder(0), NativeConfig(rows=2, capacity=1000))
        core.admit(request("t", PROMPT))
        (turn,) = finish(core)
        core.update(weights(1), 1, in_flight)  # type: ignore[arg-type]
        longer = request("t", (*PROMPT, *turn.ids, 4))
        core.admit(longer)
        (second,) = finish(core)
        assert core.counts.prefilled == len(PROMPT) + (2 if kept else len(longer.context))
        assert agrees(second, longer, 1) is not kept


def test_a_trajectory_that_begins_anew_has_nothing_of_older_weights(core: Core) -> None:
    core.admit(request("t", PROMPT))
    finish(core)
    core.update(weights(1), 1, "keep")
    for context in (PROMPT, (*PROMPT[:-1], 0), PROMPT[:12]):
        again = request("t", context)
        core.admit(again)
        (turn,) = finish(core)
        assert agrees(turn, again, 1)
        core.update(weights(1), 1, "keep")


def test_of_two_beginnings_the_longer_is_taken_though_it_is_another_trajectory_s(core: Core) -> None:
    core.admit(request("t", PROMPT[:12], limit=1))
    finish(core)
    core.update(weights(1), 1, "keep")
    core.admit(request("other", PROMPT))
    finish(core)
    before = core.counts.prefilled
    longer = request("t", (*PROMPT, 1))
    core.admit(longer)
    (turn,) = finish(core)
    assert core.counts.prefilled == before + 1
    assert agrees(turn, longer, 1)
    core.admit(request("third", (*PROMPT, 1, 2)))
    finish(core)
    assert core.counts.prefilled == before + 2


def test_retracted_turns_are_made_anew_and_go_on(core: Core) -> None:
    asked = [request(f"t{i}", PROMPT, limit=12) for i in range(3)]
    for one in asked:
        core.admit(one)
    for _ in range(5):
        core.step()
    core.update(weights(1), 1, "retract")
    assert core.resident() == 0
    for one, turn in zip(asked, finish(core), strict=True):
        switch = turn.versions.index(1)
        assert 0 < switch < 12
        old = Completion(ids=turn.ids[:switch], logprobs=turn.logprobs[:switch], versions=(), stop="end")
        new = Completion(ids=turn.ids[switch:], logprobs=turn.logprobs[switch:], versions=(), stop="end")
        assert agrees(old, one, 0)
        assert agrees(new, request("", (*one.context, *old.ids)), 1)


# Room


def test_the_longest_idle_trajectory_gives_way_first() -> None:
    core = Core(decoder(0), NativeConfig(rows=2, capacity=130))

    def read(name: str, length: int, *, limit: int = 1) -> int:
        """How many tokens of the trajectory's context were put through for a turn."""
        before = core.counts.prefilled
        core.admit(request(name, tuple((3 * i + ord(name)) % 24 for i in range(length)), limit=limit))
        finish(core)
        return core.counts.prefilled - before

    assert [read(name, 30) for name in "abc"] == [30, 30, 30]
    assert read("a", 32) == 2
    assert core.resident() == 92
    assert read("d", 30, limit=25) == 30  # reserves 55 of 130, which leaves room for two
    core.release("d")
    assert [read("a", 33), read("c", 31), read("b", 31)] == [1, 1, 31]


def test_turns_wait_for_rows_and_for_capacity() -> None:
    core = Core(decoder(0), NativeConfig(rows=3, capacity=100))
    assert core.room([request(f"t{i}", PROMPT[:5]) for i in range(5)]) == 3
    assert core.room([request(f"t{i}", PROMPT, limit=20) for i in range(5)]) == 1
    core.admit(request("t", PROMPT, limit=20))
    assert core.room([request("small", PROMPT[:5])]) == 1
    assert core.room([request("large", PROMPT, limit=20), request("small", PROMPT[:5])]) == 0
    finish(core)
    assert core.room([request("large", PROMPT, limit=60)]) == 1


def test_a_capacity_that_one_trajectory_may_exceed_is_refused() -> None:
    with pytest.raises(ValueError, match="capacity=95: one trajectory may have 96 tokens"):
        Core(decoder(0), NativeConfig(capacity=95))
    assert Core(decoder(0), NativeConfig(capacity=95, context=95)).context == 95


def test_turns_take_pages_as_they_grow() -> None:
    long = tiny(vocabulary=24, hidden=16, heads=4, kv_heads=2, head_dim=4, mlp=16, context=800)
    wide = telling(long, seed=0)
    core = Core(wide, NativeConfig(rows=2, capacity=1600))
    asked = [request("a", PROMPT, limit=300), request("b", PROMPT * 7, limit=60)]
    for one in asked:
        core.admit(one)
    for turn in finish(core):
        one = asked[0] if len(turn.ids) == 300 else asked[1]
        logits_TV = distributions(wide, (*one.context, *turn.ids)[:-1])[len(one.context) - 1 :]
        wanted_T = processed(logits_TV, one.sampling)[range(len(turn.ids)), list(turn.ids)]
        torch.testing.assert_close(torch.tensor(turn.logprobs), wanted_T, atol=1e-4, rtol=0)


# Weights


def test_training_the_model_changes_nothing_until_the_weights_are_given() -> None:
    model = telling(SHAPE, seed=0)
    core = Core(model, NativeConfig())
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(1)
    asked = request("t", PROMPT)
    core.admit(asked)
    assert agrees(finish(core)[0], asked, 0)


@pytest.mark.parametrize(
    ("name", "weight", "says"),
    [
        ("model.norm.weight", None, "model.norm.weight is missing"),
        ("model.norm.bias", torch.zeros(16), "model.norm.bias is unknown"),
        ("model.norm.weight", torch.zeros(15), r"model.norm.weight is \[15\] and should be \[16\]"),
    ],
)
def test_weights_that_do_not_fit_change_nothing(core: Core, name: str, weight: torch.Tensor | None, says: str) -> None:
    given = weights(1)
    if weight is None:
        del given[name]
    else:
        given[name] = weight
    with pytest.raises(CheckpointError, match=f"version 7 .*{says}.*the old weights stay"):
        core.update(given, 7, "retract")
    assert core.version == 0
    asked = request("t", PROMPT)
    core.admit(asked)
    assert agrees(finish(core)[0], asked, 0)


def test_logits_that_are_no_numbers_end_the_turns_and_leave_no_trace(core: Core) -> None:
    broken = weights(1)
    broken["model.layers.0.mlp.up_proj.weight"] = torch.full((16, 16), torch.nan)
    core.update(broken, 5, "keep")
    for i in range(3):
        core.admit(request(f"t{i}", PROMPT))
    ended: list[EndedTurn] = []
    while core.running:
        ended += core.step()
    assert len(ended) == 3
    for end in ended:
        assert isinstance(end.result, EngineError)
        assert "version 5 of the weights gives logits that are no finite numbers, after 33 tokens" in str(end.result)
        assert repr(end.drawing.request.trajectory) in str(end.result)
    assert core.resident() == 0
    core.update(weights(1), 6, "keep")
    asked = [request(f"t{i}", PROMPT) for i in range(3)]
    for one in asked:
        core.admit(one)
    for one, turn in zip(asked, finish(core), strict=True):
        assert agrees(turn, one, 1)


def test_a_context_that_is_retracted_leaves_no_trace_of_weights_that_are_no_numbers() -> None:
    core = Core(decoder(0), NativeConfig(rows=2, capacity=200, prefill=_PLACES))
    core.update({name: torch.full_like(weight, torch.nan) for name, weight in weights(1).items()}, 1, "keep")
    taken_in = core.admit(request("t0", PROMPTS[3]))
    assert core.step() == [], "a part of its context is in the memory, and nothing is drawn yet"
    core.update(weights(1), 2, "retract")
    core.withdraw(taken_in)
    asked = request("t1", PROMPTS[0])  # it fills a part of the page that the other had
    core.admit(asked)
    assert agrees(finish(core)[0], asked, 1)


# Determinism


def test_equal_calls_give_equal_bits() -> None:
    def once() -> list[Completion]:
        core = Core(decoder(0), NativeConfig(rows=3, capacity=120, prefill=16))
        done: list[Completion] = []
        waiting = [request(f"t{i}", (*PROMPTS[i % 4], i), limit=5 + i) for i in range(9)]
        for step in range(60):
            for _ in range(min(core.room(waiting), 1 + step % 2)):
                core.admit(waiting.pop(0))
            if step == 11:
                core.update(weights(1), 1, "keep")
            done += [one.result for one in core.step() if isinstance(one.result, Completion)]
        return done

    first = once()
    assert len(first) == 9
    assert once() == first
