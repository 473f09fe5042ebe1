"""Domains: each has words for all that its mechanisms need, and no word stands for two things."""

import keyword
import re
from collections import Counter
from collections.abc import Iterable, Iterator

import pytest

from palaestra.envs.blueprints import check_blueprint
from palaestra.envs.synthesis import DomainLexicon, domains, join_parts, mechanisms
from palaestra.envs.synthesis.generator import HELDOUT_DOMAINS, HELDOUT_MECHANISMS
from palaestra.seeding import Stream

DOMAINS = pytest.mark.parametrize("domain", domains().values(), ids=lambda one: one.id)
TAKEN = frozenset({"today", "rules", "asker", "shown", "id", "row", "section", "handbook", "share"})
LEAST_DOMAINS = 6
"""The fewest domains of a mechanism."""
TEXTS = {"membership_tiers": (4, 4), "plan_titles": (5, 5), "shift_skills": (4, 4)}
"""The fewest and the most texts of a list whose texts are titles of as many rows; other lists have 6 to 10."""


def _known(domain: DomainLexicon) -> list[str]:
    return [name for name in domain.mechanisms if name in mechanisms()]


def _forms(domain: DomainLexicon) -> Iterator[tuple[str, str, str]]:
    """Singular, plural and prefix of every entity."""
    roles = [word for words in domain.mechanisms.values() for word in words.values() if isinstance(word, str)]
    for text in (domain.person, domain.staff, *(text for text in roles if text.count(",") == 2)):
        singular, plural, prefix = (part.strip() for part in text.split(","))
        yield singular, plural, prefix


def _lists(domain: DomainLexicon) -> Iterator[tuple[str, list[str]]]:
    for words in domain.mechanisms.values():
        yield from ((name, texts) for name, texts in words.items() if not isinstance(texts, str))


def _twice(found: Iterable[str]) -> list[str]:
    return [one for one, count in Counter(found).items() if count > 1]


@DOMAINS
def test_a_domain_has_words_for_what_its_mechanisms_need_and_for_nothing_else(domain: DomainLexicon) -> None:
    for name in _known(domain):
        mechanism, words = mechanisms()[name], domain.mechanisms[name]
        assert {role for role, value in words.items() if isinstance(value, str)} == set(mechanism.roles), name
        assert {key for key, value in words.items() if not isinstance(value, str)} == set(mechanism.lists), name
        domain.words(name)


def test_domains_give_a_mechanism_the_same_roles_and_lists() -> None:
    first: dict[str, tuple[str, set[str]]] = {}
    for domain in domains().values():
        for name, words in domain.mechanisms.items():
            earlier, needs = first.setdefault(name, (domain.id, set(words)))
            assert set(words) == needs, f"{domain.id} and {earlier} differ in {name}"


def test_every_mechanism_has_domains_enough() -> None:
    everywhere = Counter(name for domain in domains().values() for name in domain.mechanisms)
    assert [name for name in sorted({*everywhere, *mechanisms()}) if everywhere[name] < LEAST_DOMAINS] == []
    outside = [one for one in domains().values() if one.id not in HELDOUT_DOMAINS]
    found = Counter(name for domain in outside for name in domain.mechanisms)
    assert [name for name in sorted(HELDOUT_MECHANISMS) if found[name] < LEAST_DOMAINS] == []


@DOMAINS
def test_a_domain_has_seven_to_ten_mechanisms(domain: DomainLexicon) -> None:
    assert 7 <= len(domain.mechanisms) <= 10


@DOMAINS
def test_names_and_prefixes_stand_for_one_thing(domain: DomainLexicon) -> None:
    forms = list(_forms(domain))
    case, case_prefix = (part.strip() for part in domain.case.split(","))
    assert _twice([case, f"{case}s", *(one for singular, plural, _ in forms for one in (singular, plural))]) == []
    assert _twice([case_prefix, *(prefix for _, _, prefix in forms)]) == []
    sections = {one for name in _known(domain) for one in re.findall(r"(?m)^  ([A-Z]+-)\d+:", mechanisms()[name].text)}
    assert sections.isdisjoint([case_prefix, *(prefix for _, _, prefix in forms)])


@DOMAINS
def test_names_and_prefixes_have_their_form(domain: DomainLexicon) -> None:
    for singular, plural, prefix in _forms(domain):
        assert singular != plural
        for name in (singular, plural):
            assert re.fullmatch(r"[a-z]+(_[a-z]+)*", name)
            assert not keyword.iskeyword(name)
            assert name not in TAKEN
        assert re.fullmatch(r"[A-Z]{2,4}-", prefix)


@DOMAINS
def test_texts_are_options_and_stand_in_one_list(domain: DomainLexicon) -> None:
    options: list[str] = []
    for name, texts in _lists(domain):
        least, most = TEXTS.get(name, (6, 10))
        assert least <= len(texts) <= most, name
        for text in texts:
            assert re.fullmatch(r"[A-Z][A-Za-z0-9]*([ -][A-Za-z0-9]+)*", text), f"{name}: {text!r}"
        options += [text.lower().replace(" ", "_").replace("-", "_") for text in texts]
    assert _twice(options) == []
    assert {singular for singular, _, _ in _forms(domain)}.isdisjoint(options)


@DOMAINS
def test_a_domain_has_the_teams_that_its_mechanisms_name(domain: DomainLexicon) -> None:
    texts = [mechanisms()[name].text for name in _known(domain)]
    named = {team for text in texts for team in re.findall(r'\bteam(?:: | == ")(\w+)', text)}
    assert {domain.team, "finance", "management"} | named <= set(domain.teams)
    assert len(domain.teams) == len(set(domain.teams)) == 4


@DOMAINS
def test_the_mechanisms_of_a_domain_join_without_a_problem(domain: DomainLexicon) -> None:
    known = _known(domain)
    for place in range(0, len(known), 2):
        chosen = known[place : place + 2]
        blueprint = join_parts(1, domain, chosen, Stream.root("domains", domain.id))
        assert check_blueprint(blueprint) == [], chosen


@DOMAINS
@pytest.mark.parametrize(
    ("mechanism", "texts", "limits", "rules"),
    [
        ("stock", "article_titles", ("price_limit",), ("reservation_price_limit",)),
        ("custody", "asset_titles", ("check_limit", "lost_limit"), ("loan_check_limit", "loan_lost_limit")),
    ],
)
def test_a_domain_has_things_below_and_above_every_limit(
    domain: DomainLexicon, mechanism: str, texts: str, limits: tuple[str, ...], rules: tuple[str, ...]
) -> None:
    """A twin takes something dearer in place of giving a cheap thing another price."""
    if mechanism not in domain.mechanisms:
        return
    made = mechanisms()[mechanism]
    part = made.in_words(domain.words(mechanism), Stream.root("limits", domain.id))
    varied = [value for name in limits for value in made.vary[name]]
    every = [*varied, *(value for name in rules for value in part.rules[name].instead)]
    values = domain.mechanisms[mechanism][texts].values()
    assert max(values) > max(every)
    assert sum(value <= min(varied) for value in values) >= len(values) / 2


@DOMAINS
def test_a_domain_has_purposes_of_both_bases(domain: DomainLexicon) -> None:
    if "messaging" in domain.mechanisms:
        purposes: dict[str, str] = domain.mechanisms["messaging"]["consent_purposes"]
        bases = Counter(purposes.values())
        assert bases.keys() == {"wish", "contract"}
        assert bases["wish"] > bases["contract"]
