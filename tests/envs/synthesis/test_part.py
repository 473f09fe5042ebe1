"""Mechanisms: what a twin plants leaves rows that agree with one another, as the population's rows do."""

import re

import pytest

from palaestra.envs.synthesis import MechanismPart, domains, mechanisms
from palaestra.seeding import Stream


def part(name: str) -> MechanismPart:
    domain = next(domain for domain in domains().values() if name in domain.mechanisms)
    return mechanisms()[name].in_words(domain.words(name), Stream.root("test", name))


@pytest.mark.parametrize("name", sorted(mechanisms()))
def test_a_date_that_follows_from_another_is_planted_with_it(name: str) -> None:
    made = part(name)
    dates = {
        f"{entity}.{field}"
        for entity, spec in made.entities.items()
        for field, one in spec.fields.items()
        if "date" in one.type
    }
    follows = {
        (first, f"{entity}.{field}")
        for entity, spec in made.entities.items()
        for field, one in spec.fields.items()
        if f"{entity}.{field}" in dates
        for first in dates.intersection(re.findall(r"\w+\.\w+", str(one.value)))
    }
    contradictory = [
        (request, refusal.section, later)
        for request, spec in made.requests.items()
        for refusal in spec.refusals
        for first, later in follows
        if first in (planted := {one.set for one in refusal.plant}) and later not in planted
    ]
    assert contradictory == []


@pytest.mark.parametrize("name", sorted(mechanisms()))
def test_who_hands_a_request_over_says_to_which_team(name: str) -> None:
    made = part(name)
    refusals = [*(one for spec in made.requests.values() for one in spec.refusals), *made.blocks]
    assert [one.tells for one in refusals if one.team not in one.tells] == []
