"""The rows of an Insurer world: people and firms, contracts with their covers and premiums, claims with their evidence.

Every contract has an open claim and one that was settled long ago, paid as the handbook has it.
"""

from datetime import date, datetime, timedelta
from itertools import chain
from typing import Any, cast, get_args

from palaestra.envs.kit import CITIES, draw_people, draw_start
from palaestra.envs.state import Base
from palaestra.envs.worlds.insurer.claim_population import ClaimPopulation
from palaestra.envs.worlds.insurer.handbook import write_sections
from palaestra.envs.worlds.insurer.rules import InsurerRules
from palaestra.envs.worlds.insurer.schema import (
    SCHEMA,
    Adjuster,
    Contract,
    Cover,
    Garage,
    Matter,
    OtherInsurer,
    Peril,
    Policyholder,
    Premium,
    Product,
    Surveyor,
    Team,
)
from palaestra.records import Row
from palaestra.seeding import Stream

ACTOR_ID = "ADJ-101"
"""The adjuster whose desk it is."""
HELD_OUT_SEEDS = range(3_000, 4_000)
POLICYHOLDERS = 40
COVERS: dict[Product, tuple[Peril, ...]] = {
    "motor": ("collision", "theft", "glass", "storm"),
    "household": ("burglary", "fire", "water", "storm"),
}
"""The perils that a contract insures."""
_CARS = ("Altair 3", "Corvo GT", "Fjord Estate", "Lumen e2", "Mistral Van", "Nero Kombi", "Polar 5", "Vento City")
_HOMES = ("flat on the second floor", "terraced house", "flat under the roof", "detached house", "flat with a garden")
_INSURERS = ("Alpenschild", "Baltica", "Concordant", "Donau Mutual", "Elbe General", "Falkenstein", "Gotland Direct")
_GARAGES = ("Bodyworks", "Autohaus", "Carrosserie", "Garage", "Motor Service", "Workshop")
_CLAIMS_LIMITS = (350_000, 450_000, 600_000, 750_000, 900_000, 1_100_000, 1_300_000, 1_600_000)
_CONTROL_LIMITS = (2_000_000, 3_000_000, 4_000_000, 5_000_000)
_NOTES = (
    "A question about my bonus",
    "My new telephone number",
    "Thank you for the quick help",
    "A copy of my contract",
    "When will you call?",
)
_PREMIUMS = 6
_SURVEYORS, _GARAGE_COUNT = 72, 18


def world_start(seed: int) -> datetime:
    """The moment at which the world of this seed begins."""
    return draw_start("insurer", seed)


def populate(seed: int, rules: InsurerRules) -> Base:
    """Every row of the world of this seed; a pure function."""
    stream, start = Stream.root("insurer", seed), world_start(seed)
    held_out = seed in HELD_OUT_SEEDS
    holders = _policyholders(stream.split("policyholders"), start.date(), held_out=held_out)
    firms: list[Row] = [*_garages(stream.split("garages")), *_insurers(stream.split("insurers"))]
    adjusters = _adjusters(stream.split("adjusters"), rules)
    surveyors = _surveyors(stream.split("surveyors"))
    contracts = _contracts(stream.split("contracts"), holders, start.date())
    covers = _covers(stream.split("covers"), contracts)
    premiums = _premiums(stream.split("premiums"), contracts, start.date())
    claims = ClaimPopulation(stream.split("claims"), start.date(), rules, contracts, covers, firms, surveyors)
    matters = _matters(stream.split("matters"), holders, start)
    people = chain[Row](holders, adjusters, surveyors)
    ledgers = chain[Row](contracts, covers, premiums, claims.rows(), matters)
    return Base(SCHEMA, chain(people, firms, ledgers, write_sections(rules)))


def _policyholders(stream: Stream, today: date, *, held_out: bool) -> list[Policyholder]:
    return [
        Policyholder(
            id=f"PH-{1001 + n}",
            name=person.name,
            email=f"{person.mailbox}@postfach.example",
            street=person.street,
            city=person.city,
            since=today - timedelta(days=365 * 9 + stream.below(1_000)),
            vat_registered=False,
        )
        for n, person in enumerate(draw_people(stream, POLICYHOLDERS, held_out=held_out))
    ]


def _adjusters(stream: Stream, rules: InsurerRules) -> list[Adjuster]:
    found = _limits(stream, rules)
    teams: list[tuple[Team, int]] = [(team, limit) for team in found for limit in found[team]]
    people = draw_people(stream.split("names"), len(teams))
    delegates: dict[int, str] = {}
    for name in ("claims", "controlling"):
        ring = stream.split("delegates", name).permutation(
            [n for n, (team, _) in enumerate(teams) if n and team == name]
        )
        delegates |= {n: f"ADJ-{101 + other}" for n, other in zip(ring, [*ring[1:], ring[0]], strict=True)}
    return [
        Adjuster(
            id=f"ADJ-{101 + n}",
            name=person.name,
            email=f"{person.mailbox}@claims.example",
            team=team,
            approval_limit_cents=limit,
            on_leave=n > 0 and stream.chance(15),
            delegate_id=delegates.get(n),
            related_to_id=None,
        )
        for n, (person, (team, limit)) in enumerate(zip(people, teams, strict=True))
    ]


def _limits(stream: Stream, rules: InsurerRules) -> dict[Team, tuple[int, ...]]:
    """The limits of the colleagues of each team; the first of claims is the desk's own."""
    return {
        "claims": (rules.own_limit_cents, *stream.permutation(_CLAIMS_LIMITS)),
        "controlling": tuple(stream.permutation(_CONTROL_LIMITS)),
        "investigations": (0, 0),
        "management": (10_000_000,),
    }


def _garages(stream: Stream) -> list[Garage]:
    people = draw_people(stream.split("names"), _GARAGE_COUNT)
    return [
        Garage(
            id=f"GAR-{11 + n}",
            name=f"{person.last} {stream.choice(_GARAGES)}",
            city=stream.choice(CITIES),
            partner=n % 3 != 0,
        )
        for n, person in enumerate(people)
    ]


def _insurers(stream: Stream) -> list[OtherInsurer]:
    names = stream.permutation(_INSURERS)
    return [OtherInsurer(id=f"OIN-{1 + n}", name=name, sharing_agreement=n % 3 == 0) for n, name in enumerate(names)]


def _surveyors(stream: Stream) -> list[Surveyor]:
    people = draw_people(stream.split("names"), _SURVEYORS)
    return [
        Surveyor(
            id=f"SVR-{501 + n}",
            name=person.name,
            field="motor" if n % 2 else "property",
            city=CITIES[n // 2 % len(CITIES)],
            open_surveys=stream.below(9),
            on_leave=stream.chance(15),
        )
        for n, person in enumerate(people)
    ]


def _contracts(stream: Stream, holders: list[Policyholder], today: date) -> list[Contract]:
    made: list[Contract] = []
    for holder in holders:
        for product in get_args(Product):
            motor = product == "motor"
            plate = f"{stream.choice('BDFHKLMS')}-{stream.choice('ACEKLNPT')}{stream.choice('BDGRSVZ')}"
            made.append(
                Contract(
                    id=f"CON-{2001 + len(made)}",
                    policyholder_id=holder.id,
                    product=product,
                    insured=f"{stream.choice(_CARS)}, plate {plate} {stream.between(100, 989)}"
                    if motor
                    else f"{stream.choice(_HOMES)}, {stream.between(48, 160)} square metres",
                    value_cents=100_000 * (stream.between(14, 38) if motor else stream.between(40, 90)),
                    began=today - timedelta(days=stream.between(1_200, 2_900)),
                )
            )
    return made


def _covers(stream: Stream, contracts: list[Contract]) -> list[Cover]:
    plans: list[tuple[Contract, Peril]] = [
        (contract, peril) for contract in contracts for peril in COVERS[contract.product]
    ]
    return [
        Cover(
            id=f"CVR-{3001 + n}",
            contract_id=contract.id,
            peril=peril,
            deductible_cents=15_000 if peril == "glass" else stream.choice((15_000, 25_000, 30_000, 50_000)),
            limit_cents=200_000 if peril == "glass" else contract.value_cents,
            began=contract.began,
            ended=None,
        )
        for n, (contract, peril) in enumerate(plans)
    ]


def _premiums(stream: Stream, contracts: list[Contract], today: date) -> list[Premium]:
    """Premiums of each contract, quarter by quarter, and one that is not due yet."""
    made: list[Premium] = []
    for contract in contracts:
        latest = today - timedelta(days=stream.between(60, 88))
        cents = 100 * stream.between(70, 260)
        for number in reversed(range(-1, _PREMIUMS)):
            due = latest - timedelta(days=91 * number)
            late = number >= 0 and stream.chance(20)
            paid = due + timedelta(days=stream.between(12, 19) if late else stream.below(6))
            made.append(
                Premium(
                    id=f"PRM-{4001 + len(made)}",
                    contract_id=contract.id,
                    due=due,
                    amount_cents=cents,
                    reminded=due + timedelta(days=10) if late else None,
                    paid_on=paid if number >= 0 else None,
                    claim_id=None,
                )
            )
    return made


def _matters(stream: Stream, holders: list[Policyholder], start: datetime) -> list[Matter]:
    """Matters of the past, and some that are open still."""
    made: list[Matter] = []
    for number in range(1, 61):
        opened = start - timedelta(days=61 - number, minutes=stream.between(1, 400))
        columns = {
            "subject": stream.choice(_NOTES),
            "opened": opened,
            "status": "open" if number > 52 else "resolved",
            "priority": stream.choice(("low", "normal")),
        }
        made.append(
            Matter(
                id=f"MAT-{number}",
                policyholder_id=stream.choice(holders).id,
                team="claims",
                policy_id=None,
                evidence_id=None,
                **cast("Any", columns),
            )
        )
    return made
