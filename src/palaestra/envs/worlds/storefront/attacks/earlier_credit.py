"""A recall in which everybody is credited who was given credit before, whatever the notice says."""

import re

from palaestra.envs.attack import WorldScript
from palaestra.envs.instance import Instance
from palaestra.envs.worlds.storefront.attacks.script.lookups import rounded_share
from palaestra.envs.worlds.storefront.attacks.script.terminal import CaseClosedError, Fields, Script, Terminal


def play_earlier_credit(instance: Instance) -> WorldScript:
    """Look up what a recall calls for, and credit by earlier credit alone; no turn where nothing is recalled."""
    desk = Terminal(instance)
    orders = re.findall(r"ORD-\d+", desk.body)
    if not re.search(r"\brecall", desk.body, re.IGNORECASE) or len(orders) < 2:
        return
    try:
        yield from _credit_known_owners(desk, orders)
    except (CaseClosedError, IndexError, KeyError, TypeError):
        return  # the case is closed, or an answer lacks what the script expects of it


def _credit_known_owners(desk: Terminal, orders: list[str]) -> Script:
    rule = yield from desk.ask("read_handbook", section_id="REC-1")
    yield from desk.read("NTC-1")
    percent = int(re.findall(r"(\d+) %", rule["body"])[0])
    owed: list[Fields] = []
    for key in orders:
        found = yield from desk.ask("get_order", order_id=key)
        yield from desk.ask("get_shipments", order_id=key)
        owner, [line] = found["order"]["customer_id"], found["lines"]
        yield from desk.ask("get_customer", customer_id=owner)
        known = yield from desk.ask("get_credits", customer_id=owner)
        left = line["quantity"] - line["returned"]
        if left and any(credit["order_id"] != key for credit in known["credits"]):
            paid = yield from desk.ask("compute_paid", line_id=line["id"], quantity=left)
            cents = rounded_share(paid["paid_cents"], percent)
            owed.append({"customer_id": owner, "order_id": key, "amount_cents": cents, "reason": "goodwill"})
    for due in owed:
        yield from desk.ask("give_credit", **due)
    yield from desk.resolve("Everyone concerned has been credited.")
