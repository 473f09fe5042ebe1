"""Engines with one fault each, for every claim of the suite: a claim that none of them breaks would prove nothing."""

import asyncio
import dataclasses
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from palaestra.errors import CheckpointError, EngineError
from palaestra.trainers.engines.engine import Completion, Engine, EngineStats, InFlight, TurnRequest, Weights


class Faulty(Engine):
    """A sound engine behind a faulty one; alone it adds no fault."""

    def __init__(self, sound: Engine) -> None:
        self.sound = sound
        self.asked: list[TurnRequest] = []

    @property
    def context(self) -> int:
        return self.sound.context

    def before(self, request: TurnRequest) -> TurnRequest:
        """What is asked of the sound engine."""
        return request

    def after(self, request: TurnRequest, turn: Completion) -> Completion:
        """What is made of its answer."""
        del request
        return turn

    async def generate(self, request: TurnRequest) -> Completion:
        asked = self.before(request)
        self.asked.append(request)
        return self.after(request, await self.sound.generate(asked))

    def release(self, trajectory: str) -> None:
        self.sound.release(trajectory)

    async def update_weights(self, weights: Weights, version: int, *, in_flight: InFlight = "keep") -> None:
        await self.sound.update_weights(weights, version, in_flight=in_flight)

    async def pause(self) -> None:
        await self.sound.pause()

    async def resume(self) -> None:
        await self.sound.resume()

    def stats(self) -> EngineStats:
        return self.sound.stats()

    async def close(self) -> None:
        await self.sound.close()


class Misaligned(Faulty):
    def after(self, request: TurnRequest, turn: Completion) -> Completion:
        return dataclasses.replace(turn, logprobs=turn.logprobs[:-1])


class StopsShort(Faulty):
    def after(self, request: TurnRequest, turn: Completion) -> Completion:
        if turn.stop == "length":
            return turn
        return dataclasses.replace(turn, ids=turn.ids[:-1], logprobs=turn.logprobs[:-1], versions=turn.versions[:-1])


class LooksAtTheLimitFirst(Faulty):
    def after(self, request: TurnRequest, turn: Completion) -> Completion:
        return dataclasses.replace(turn, stop="length") if len(turn.ids) == request.sampling.limit else turn


class WantsRoomForTheLimit(Faulty):
    def before(self, request: TurnRequest) -> TurnRequest:
        if len(request.context) + request.sampling.limit > self.context:
            raise ValueError("the limit does not fit the context")
        return request


class IgnoresTemperature(Faulty):
    def before(self, request: TurnRequest) -> TurnRequest:
        return _sampling(request, temperature=1.0)


class IgnoresTopP(Faulty):
    def before(self, request: TurnRequest) -> TurnRequest:
        return _sampling(request, top_p=1.0)


class RoundsTopP(Faulty):
    def before(self, request: TurnRequest) -> TurnRequest:
        return _sampling(request, top_p=max(0.9, request.sampling.top_p))


class SharpensAndKeepsQuiet(Faulty):
    def before(self, request: TurnRequest) -> TurnRequest:
        return _sampling(request, temperature=request.sampling.temperature / 2)


class DrawsByChance(Faulty):
    def before(self, request: TurnRequest) -> TurnRequest:
        return dataclasses.replace(request, noise=len(self.asked).to_bytes(8, "big"))


class DrawsByOtherNoise(Faulty):
    def before(self, request: TurnRequest) -> TurnRequest:
        return dataclasses.replace(request, noise=request.noise[::-1])


class MixesTrajectoriesUp(Faulty):
    def before(self, request: TurnRequest) -> TurnRequest:
        beside = self.asked[-1].context[:1] if self.asked else request.context[:1]
        return dataclasses.replace(request, context=(*beside, *request.context[1:]))


class RefusesWhatDoesNotFit(Faulty):
    taken = 0

    async def generate(self, request: TurnRequest) -> Completion:
        size = len(request.context)
        if self.taken + size > self.stats().capacity:
            raise EngineError("full")
        self.taken += size
        try:
            return await super().generate(request)
        finally:
            self.taken -= size


class ReadsOnlyWhatIsNew(Faulty):
    def before(self, request: TurnRequest) -> TurnRequest:
        known = max((len(r.context) for r in self.asked if r.trajectory == request.trajectory), default=0)
        return dataclasses.replace(request, context=request.context[known % len(request.context) :])


class TrustsWhatItHolds(Faulty):
    def before(self, request: TurnRequest) -> TurnRequest:
        known = next((r.context for r in self.asked if r.trajectory == request.trajectory), ())
        return dataclasses.replace(request, context=(*known, *request.context[len(known) :])[: len(request.context)])


class MendsWhatIsWrong(Faulty):
    def before(self, request: TurnRequest) -> TurnRequest:
        return _sampling(request, limit=max(1, request.sampling.limit))


class LetsTurnsOverlap(Faulty):
    def before(self, request: TurnRequest) -> TurnRequest:
        return dataclasses.replace(request, trajectory=f"{request.trajectory} {len(self.asked)}")


class NeverGivesUp(Faulty):
    def before(self, request: TurnRequest) -> TurnRequest:
        return dataclasses.replace(request, timeout=None)


class GoesOnAlone(Faulty):
    async def generate(self, request: TurnRequest) -> Completion:
        return await asyncio.shield(super().generate(request))


class ReleasesOnce(Faulty):
    def release(self, trajectory: str) -> None:
        if trajectory not in {request.trajectory for request in self.asked}:
            raise KeyError(trajectory)


class NeverReleases(Faulty):
    def release(self, trajectory: str) -> None:
        pass


class TakesTheVersionAlone(Faulty):
    first: Weights | None = None

    async def update_weights(self, weights: Weights, version: int, *, in_flight: InFlight = "keep") -> None:
        self.first = self.first or weights
        await self.sound.update_weights(self.first, version, in_flight=in_flight)


class CountsVersionsItself(Faulty):
    version = 0

    async def update_weights(self, weights: Weights, version: int, *, in_flight: InFlight = "keep") -> None:
        self.version += 2
        await self.sound.update_weights(weights, self.version, in_flight=in_flight)


class TakesWeightsLater(Faulty):
    later: tuple[Weights, int] | None = None

    async def update_weights(self, weights: Weights, version: int, *, in_flight: InFlight = "keep") -> None:
        self.later = (weights, version)

    async def generate(self, request: TurnRequest) -> Completion:
        if self.later is not None:
            await self.sound.update_weights(*self.later)
        return await super().generate(request)


class WantsTheTiedLayer(Faulty):
    async def update_weights(self, weights: Weights, version: int, *, in_flight: InFlight = "keep") -> None:
        if "lm_head.weight" not in weights:
            raise CheckpointError("lm_head.weight is missing")
        await self.sound.update_weights(weights, version, in_flight=in_flight)


class Keeps(Faulty):
    async def update_weights(self, weights: Weights, version: int, *, in_flight: InFlight = "keep") -> None:
        await self.sound.update_weights(weights, version, in_flight="keep")


class Retracts(Faulty):
    async def update_weights(self, weights: Weights, version: int, *, in_flight: InFlight = "keep") -> None:
        await self.sound.update_weights(weights, version, in_flight="retract")


class TakesAnyWeights(Faulty):
    async def update_weights(self, weights: Weights, version: int, *, in_flight: InFlight = "keep") -> None:
        with suppress(CheckpointError):
            await self.sound.update_weights(weights, version, in_flight=in_flight)


class NeverPauses(Faulty):
    async def pause(self) -> None:
        pass


class UpdatesOnceResumed(Faulty):
    paused = False

    async def pause(self) -> None:
        self.paused = True
        await self.sound.pause()

    async def update_weights(self, weights: Weights, version: int, *, in_flight: InFlight = "keep") -> None:
        while self.paused:
            await asyncio.sleep(0.01)
        await self.sound.update_weights(weights, version, in_flight=in_flight)


class MakesItselfOut(Faulty):
    def stats(self) -> EngineStats:
        stats = self.sound.stats()
        return dataclasses.replace(stats, drawn=2 * stats.drawn)


class ClosesLater(Faulty):
    async def close(self) -> None:
        pass


Fault: TypeAlias = Callable[[Engine], Engine]
FAULTS: dict[str, Fault] = {
    "a_turn_is_aligned_and_within_its_limit": Misaligned,
    "a_stop_token_ends_the_turn_and_is_part_of_it": StopsShort,
    "a_stop_token_at_the_limit_is_an_end": LooksAtTheLimitFirst,
    "a_turn_ends_where_the_context_does": WantsRoomForTheLimit,
    "log_probabilities_are_those_at_the_temperature": IgnoresTemperature,
    "top_p_draws_from_the_nucleus_renormalised": IgnoresTopP,
    "the_smallest_nucleus_is_the_likeliest_token": RoundsTopP,
    "tokens_are_drawn_as_often_as_their_probabilities_say": SharpensAndKeepsQuiet,
    "noise_decides_what_is_drawn_whatever_is_drawn_beside_it": DrawsByChance,
    "a_token_is_drawn_by_inversion_with_the_noise_of_its_place": DrawsByOtherNoise,
    "many_trajectories_at_once_are_each_their_own": MixesTrajectoriesUp,
    "more_trajectories_than_fit_are_all_served": RefusesWhatDoesNotFit,
    "a_continuation_is_what_a_fresh_trajectory_would_be": ReadsOnlyWhatIsNew,
    "a_rewritten_context_is_read_anew_from_where_it_differs": TrustsWhatItHolds,
    "a_request_that_breaks_a_rule_draws_nothing": MendsWhatIsWrong,
    "a_trajectory_has_one_turn_at_a_time": LetsTurnsOverlap,
    "a_turn_that_takes_too_long_is_given_up": NeverGivesUp,
    "cancelling_a_turn_frees_its_place": GoesOnAlone,
    "a_released_trajectory_can_come_again": ReleasesOnce,
    "what_is_held_for_a_trajectory_goes_when_it_is_released": NeverReleases,
    "new_weights_draw_what_comes_after_them": TakesTheVersionAlone,
    "the_same_weights_again_change_nothing_but_the_version": CountsVersionsItself,
    "weights_are_taken_as_they_are_when_they_are_given": TakesWeightsLater,
    "a_tied_output_layer_may_be_left_out": WantsTheTiedLayer,
    "keep_lets_turns_under_way_go_on_over_what_stood": Retracts,
    "retract_lets_turns_under_way_go_on_over_keys_made_anew": Keeps,
    "wait_finishes_turns_under_way_under_the_old_version": Keeps,
    "weights_that_do_not_fit_leave_the_old_ones_in_force": TakesAnyWeights,
    "pause_draws_nothing_and_resume_goes_on": NeverPauses,
    "weights_can_change_while_it_is_paused": UpdatesOnceResumed,
    "stats_tell_what_went_on": MakesItselfOut,
    "closing_ends_turns_under_way_with_an_error": ClosesLater,
}
"""What breaks each claim, by the claim's name."""


def _sampling(request: TurnRequest, **changes: float) -> TurnRequest:
    sampling = request.sampling
    return dataclasses.replace(
        request,
        sampling=dataclasses.replace(
            sampling,
            limit=int(changes.get("limit", sampling.limit)),
            temperature=changes.get("temperature", sampling.temperature),
            top_p=changes.get("top_p", sampling.top_p),
        ),
    )
