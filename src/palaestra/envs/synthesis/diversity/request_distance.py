"""How far the requests of one world are from each other, and which of them are the same request twice."""

from collections.abc import Iterator
from dataclasses import dataclass

from palaestra.envs.blueprints import Blueprint, RequestSpec
from palaestra.envs.synthesis.diversity.world_distance import NEAREST, jaccard_distance
from palaestra.envs.synthesis.diversity.world_profile import Features, words_of


def request_distance(one: RequestSpec, other: RequestSpec) -> float:
    """How far two requests of one world are from each other: the mean of what decides them and of their words."""
    decides = jaccard_distance(_decision_features(one), _decision_features(other))
    return (decides + jaccard_distance(frozenset(words_of(one.says)), frozenset(words_of(other.says)))) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPair:
    """Two requests of a world and their distance."""

    one: str
    other: str
    distance: float

    def __str__(self) -> str:
        """The pair as a reason for a refusal."""
        return f"{self.one} and {self.other} are {self.distance:.2f} apart; change what decides one of them"


def near_duplicate_requests(blueprint: Blueprint) -> list[RequestPair]:
    """The pairs of requests of a world that are near-duplicates.

    Two requests that are decided and granted in the same way are one request, whatever their words.
    """
    requests = sorted(blueprint.requests.items())
    pairs = [(a, b) for place, a in enumerate(requests) for b in requests[place + 1 :]]
    return [
        RequestPair(one=name, other=other_name, distance=distance)
        for (name, spec), (other_name, other) in pairs
        if (distance := request_distance(spec, other)) < NEAREST
        or _decision_features(spec) == _decision_features(other)
    ]


def _decision_features(spec: RequestSpec) -> Features:
    return frozenset(_decision_parts(spec))


def _decision_parts(spec: RequestSpec) -> Iterator[tuple[str, ...]]:
    yield "about", spec.about, spec.where
    yield "question", "" if spec.question is None else spec.question.topic
    yield "amount", spec.amount
    yield from (("states", name, one.type) for name, one in spec.states.items())
    yield from (("refuses", one.when, one.team) for one in spec.refusals)
    for step in spec.work:
        yield "does", step.action, step.when, repr(sorted(step.arguments.items()))
