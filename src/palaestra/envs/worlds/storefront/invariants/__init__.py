"""What must be true of a Storefront world's rows: some rules hold always, some while it is fresh.

`violations` holds for every state that tool calls can reach: references are whole, money is conserved,
pieces are counted once. `fresh_violations` adds what the population promises and an agent may break by
working badly, such as a claim out of warranty. Each rule is a function that yields a sentence for each
row that breaks it.
"""

from datetime import date

from palaestra.envs import PopulatedWorld, kit
from palaestra.envs.worlds.storefront.invariants.books import Books, Rule
from palaestra.envs.worlds.storefront.invariants.conduct import (
    claims_follow_delivery,
    nothing_precedes_its_cause,
    replacements_name_the_lost,
    shipments_are_ordered_in_time,
    shipments_match_orders,
    tickets_show_their_grounds,
)
from palaestra.envs.worlds.storefront.invariants.fresh import FRESH
from palaestra.envs.worlds.storefront.invariants.money import (
    builds_hold_fitting_slots,
    credit_is_given,
    discounts_follow_promotions,
    emails_are_unique,
    large_refunds_are_approved,
    lines_name_their_products,
    orders_add_up,
    payments_match_orders,
    pieces_come_back_once,
    references_are_whole,
    refunds_conserve_money,
    refunds_name_one_order,
    returns_name_one_order,
    stock_is_real,
    tiers_follow_spending,
)
from palaestra.envs.worlds.storefront.policy import POLICY, StorePolicy
from palaestra.protocols import StateView

__all__ = ["ALWAYS", "FRESH", "books_are_sound", "fresh_violations", "violations"]

ALWAYS: tuple[Rule, ...] = (
    references_are_whole,
    emails_are_unique,
    tiers_follow_spending,
    credit_is_given,
    stock_is_real,
    builds_hold_fitting_slots,
    orders_add_up,
    lines_name_their_products,
    discounts_follow_promotions,
    payments_match_orders,
    refunds_conserve_money,
    refunds_name_one_order,
    large_refunds_are_approved,
    returns_name_one_order,
    pieces_come_back_once,
    shipments_are_ordered_in_time,
    shipments_match_orders,
    replacements_name_the_lost,
    nothing_precedes_its_cause,
    claims_follow_delivery,
    tickets_show_their_grounds,
)
"""What every state keeps that tool calls can reach; whole references first, since the others follow them."""


def violations(state: StateView, today: date, policy: StorePolicy = POLICY) -> list[str]:
    """A sentence for each breach of a rule that every reachable state keeps; empty for a sound state.

    The other rules follow references, so broken ones are reported alone.

    Args:
        state: The rows.
        today: The day in the world; nothing may have happened after it.
        policy: The company's rules.
    """
    books = Books(state=state, today=today, policy=policy)
    return list(references_are_whole(books)) or kit.broken_rules(ALWAYS[1:], books)


def fresh_violations(state: StateView, today: date, policy: StorePolicy = POLICY) -> list[str]:
    """A sentence for each breach of any rule, those included that hold only before the first tool call."""
    books = Books(state=state, today=today, policy=policy)
    return list(references_are_whole(books)) or kit.broken_rules((*ALWAYS[1:], *FRESH), books)


def books_are_sound(populated: PopulatedWorld) -> list[str]:
    """The invariant of the world: all rules hold while it is fresh."""
    return fresh_violations(populated.state, populated.today, populated.rules)
