"""Refusal conditions in an account: who asks, and whether anything may be done for them."""

from palaestra.envs.kit import RefusalCondition
from palaestra.envs.kit.names import MAIL_HOSTS
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import Customer


def on_hold(desk: Desk, customer: Customer) -> RefusalCondition:
    """The fraud team has placed a hold on the account."""
    held = desk.state.update(customer, fraud_hold=True)
    return RefusalCondition(
        section="FRD-1",
        evidence=held,
        team="fraud",
        priority=desk.policy.hold_priority,
        message="A colleague will look into this and write to you.",
    )


def written_from_elsewhere(desk: Desk, customer: Customer) -> RefusalCondition:
    """The address on file is another than the one that the message came from, at another host."""
    mailbox, _, host = customer.email.partition("@")
    others = [h for h in MAIL_HOSTS if h != host]
    owner = desk.state.update(customer, email=f"{mailbox}@{desk.stream.choice(others)}")
    return RefusalCondition(
        section="PRV-1",
        evidence=owner,
        message="We can only act on a request that comes from the address on file.",
    )
