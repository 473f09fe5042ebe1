"""How the restocking fee on an opened piece is found out, call by call, and told (RET-2)."""

from palaestra.envs.kit import amount, calculation
from palaestra.envs.task import call
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import OrderLine
from palaestra.records import ToolCall


def restocking_calls(desk: Desk, line: OrderLine) -> list[ToolCall]:
    """The rule, what was paid for the piece, and its share that is kept, where a fee is due."""
    paid, tier = desk.paid_cents(line, 1), desk.customer(desk.order(line)).tier
    due = line.opened and tier not in desk.policy.fee_free_tiers
    share, _ = calculation("percent", paid, desk.policy.restocking_percent)
    return [
        call("read_handbook", section_id="RET-2"),
        call("compute_paid", line_id=line.id, quantity=1),
        *([share] if due else []),
    ]


def explain_fee(paid: int, fee: int) -> str:
    """What a customer is told of the money for an opened piece: what is kept, and what is left once it is here."""
    kept = f"We keep a restocking fee of {amount(fee)}, since the package was opened" if fee else "No fee is kept"
    return f"{kept}; {amount(paid - fee)} are yours once it is here."
