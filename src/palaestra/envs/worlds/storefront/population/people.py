"""Who lives in the world: customers and the colleagues who may decide."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from palaestra.envs.kit import MAIL_HOSTS, Person
from palaestra.envs.worlds.storefront.policy import StorePolicy, tier_for
from palaestra.envs.worlds.storefront.population.plan import Account, account
from palaestra.envs.worlds.storefront.schema import Customer, Employee, EmployeeRank, Team, Tier
from palaestra.seeding import Stream

_TIER_SIZES: tuple[tuple[Tier, int, int], ...] = (
    ("bronze", 79, 4),
    ("silver", 43, 3),
    ("gold", 22, 2),
    ("platinum", 16, 2),
)
"""(tier, customers, how many of them under a fraud hold)."""

EMPLOYEES = 24
"""How many posts there are."""

COMPANY_HOST = "kernwerk.example"

_MANAGER_LIMIT_CENTS = 2_500_000
_COUNTRY_CODES = (31, 33, 43, 49)


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomerFigures:
    """What a customer's orders say about the customer."""

    first_order: date
    lifetime_cents: int
    credit_cents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Post:
    team: Team
    rank: EmployeeRank
    limit_cents: int
    on_leave: bool = False


def accounts(stream: Stream, policy: StorePolicy) -> list[Account]:
    """The customers to be, in an order that does not tell the tier."""
    wanted: list[tuple[Tier, bool]] = [
        (tier, number < held) for tier, size, held in _TIER_SIZES for number in range(size)
    ]
    return [
        account(f"CUS-{1001 + n}", tier, policy, held=held) for n, (tier, held) in enumerate(stream.permutation(wanted))
    ]


def customers(
    stream: Stream,
    policy: StorePolicy,
    accounts: Sequence[Account],
    persons: Sequence[Person],
    figures: Mapping[str, CustomerFigures],
) -> list[Customer]:
    """The customers, once their orders are known."""
    found = [
        _customer(stream, policy, planned, person, figures[planned.customer_id])
        for planned, person in zip(accounts, persons, strict=True)
    ]
    for planned, customer in zip(accounts, found, strict=True):
        if planned.tier != customer.tier:
            raise AssertionError(f"{customer.id} was planned {planned.tier} and became {customer.tier}")
    return found


def employees(stream: Stream, policy: StorePolicy, persons: Sequence[Person]) -> list[Employee]:
    """The colleagues; there are as many posts as `persons`."""
    # EMP-101 is who acts in this world: a support agent at work.
    acting, *others = _posts(policy)
    posts = [acting, *stream.permutation(others)]
    return [
        Employee(
            id=f"EMP-{101 + n}",
            name=person.name,
            email=f"{person.mailbox}@{COMPANY_HOST}",
            team=post.team,
            rank=post.rank,
            approval_limit_cents=post.limit_cents,
            on_leave=post.on_leave,
        )
        for n, (post, person) in enumerate(zip(posts, persons, strict=True))
    ]


def _customer(
    stream: Stream, policy: StorePolicy, planned: Account, person: Person, figures: CustomerFigures
) -> Customer:
    return Customer(
        id=planned.customer_id,
        name=person.name,
        email=f"{person.mailbox}@{stream.choice(MAIL_HOSTS)}",
        phone=f"+{stream.choice(_COUNTRY_CODES)} {stream.between(151, 799)} {stream.between(10**6, 10**7)}",
        street=person.street,
        city=person.city,
        joined=figures.first_order - timedelta(days=stream.below(400)),
        tier=tier_for(policy, figures.lifetime_cents),
        lifetime_cents=figures.lifetime_cents,
        credit_cents=figures.credit_cents,
        fraud_hold=planned.held,
    )


def _posts(policy: StorePolicy) -> list[_Post]:
    # One of the two full supervisors and one of the two finance managers is away, so that whoever asks for an
    # approval has to look; the third supervisor is new and approves no more than an agent may pay.
    agent, supervisor = policy.agent_limit_cents, policy.supervisor_limit_cents
    manager = max(_MANAGER_LIMIT_CENTS, 5 * supervisor)
    return [
        *[_Post(team="support", rank="agent", limit_cents=agent)] * 4,
        *[_Post(team="support", rank="agent", limit_cents=agent, on_leave=True)] * 2,
        _Post(team="support", rank="supervisor", limit_cents=supervisor),
        _Post(team="support", rank="supervisor", limit_cents=supervisor, on_leave=True),
        _Post(team="support", rank="supervisor", limit_cents=agent),
        _Post(team="finance", rank="manager", limit_cents=manager),
        _Post(team="finance", rank="manager", limit_cents=manager, on_leave=True),
        *[_Post(team="finance", rank="agent", limit_cents=0)] * 3,
        _Post(team="warranty", rank="supervisor", limit_cents=0),
        *[_Post(team="warranty", rank="agent", limit_cents=0)] * 3,
        _Post(team="fraud", rank="manager", limit_cents=0),
        *[_Post(team="fraud", rank="agent", limit_cents=0)] * 2,
        _Post(team="warehouse", rank="supervisor", limit_cents=0),
        *[_Post(team="warehouse", rank="agent", limit_cents=0)] * 2,
    ]
