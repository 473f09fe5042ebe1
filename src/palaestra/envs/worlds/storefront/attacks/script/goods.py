"""Goods that come back, stay, broke, or should be mended."""

import re
from datetime import date

from palaestra.envs.worlds.storefront.attacks.script.lookups import (
    arrival,
    choose_approver,
    last_day,
    named_line,
    named_order,
    pay_back,
    rounded_share,
)
from palaestra.envs.worlds.storefront.attacks.script.terminal import Fields, Script, Terminal

_FAULTS = (
    ("does not start", "dead"),
    ("loud noise", "noise"),
    ("gets far too hot", "overheating"),
    ("stripes in the picture", "display"),
    ("now and then", "intermittent"),
)


def _line(desk: Terminal) -> Script:
    order, lines, customer = yield from named_order(desk)
    line, product = yield from named_line(desk, lines)
    return order, lines, customer, line, product


def send_back(desk: Terminal) -> Script:
    """A change of mind."""
    order, lines, customer, line, product = yield from _line(desk)
    if product["final_sale"]:
        yield from desk.decline("RET-3", product["id"])
    returns = yield from desk.ask("get_returns", order_id=order["id"])
    for back in returns["returns"]:
        if back["line_id"] == line["id"] and back["status"] == "authorised":
            yield from desk.decline("RET-1", back["id"])
    parcel, delivered = yield from arrival(desk, line)
    if desk.today > last_day(delivered, customer["tier"]):
        yield from desk.decline("RET-1", parcel)
    yield from desk.read("RET-1", "RET-2")
    pieces = line["quantity"] - line["returned"]
    paid = yield from desk.ask("compute_paid", line_id=line["id"], quantity=pieces)
    fee = rounded_share(paid["paid_cents"], 15) if line["opened"] and customer["tier"] != "platinum" else 0
    fee += yield from _lost_discount(desk, order, lines, line)
    yield from desk.ask("authorise_return", line_id=line["id"], quantity=pieces, reason="changed_mind", fee_cents=fee)
    yield from desk.resolve("Please send it back.")


def _lost_discount(desk: Terminal, order: Fields, lines: list[Fields], line: Fields) -> Script:
    """The discount of what is kept, where a bundle code is no longer earned."""
    code = order["promotion_code"] or ""
    if not code.startswith("SET"):
        return 0
    yield from desk.read("PRM-3")
    promotion = yield from desk.ask("get_promotion", code=code)
    kept = [other for other in lines if other["id"] != line["id"]]
    if sum(other["unit_cents"] * other["quantity"] for other in kept) >= promotion["minimum_cents"]:
        return 0
    lost = 0
    for other in kept:
        paid = yield from desk.ask("compute_paid", line_id=other["id"], quantity=other["quantity"])
        lost += paid["discount_share_cents"]
    return lost


def put_right(desk: Terminal) -> Script:
    """Damaged, faulty, or not what was ordered: refund while the window is open, warranty for faults after it."""
    reason = {"Not what I ordered": "wrong_item", "It does not work": "faulty"}.get(desk.subject, "damaged")
    order, _, customer, line, product = yield from _line(desk)
    refunds = yield from desk.ask("get_refunds", order_id=order["id"])
    for refund in refunds["refunds"]:
        if refund["line_id"] == line["id"] and refund["status"] == "pending_approval":
            yield from choose_approver(desk, refund["amount_cents"])
            yield from desk.decline("REF-2", refund["id"])
        if refund["line_id"] == line["id"]:
            yield from desk.decline("RET-1", refund["id"])
    returns = yield from desk.ask("get_returns", order_id=order["id"])
    for back in returns["returns"]:
        if back["line_id"] == line["id"] and back["status"] == "authorised":
            yield from desk.decline("RET-1", back["id"])
    parcel, delivered = yield from arrival(desk, line)
    if desk.today <= last_day(delivered, customer["tier"]):
        both = re.search(r"[Bb]oth", desk.body)
        pieces = int(desk.find(r"(\d+) of the \d+ ") or (2 if both else 1))
        yield from pay_back(desk, line, pieces, reason)
    if reason != "faulty":
        yield from desk.decline("RET-1", parcel)
    yield from desk.read("RET-1", "WAR-1", "WAR-2")
    warranty = yield from desk.ask("compute_warranty", line_id=line["id"])
    if warranty["days_left"] < 0:
        yield from desk.decline("WAR-1", line["id"])
    claims = yield from desk.ask("get_warranty_claims", line_id=line["id"])
    for claim in claims["claims"]:
        if claim["status"] == "open":
            yield from desk.decline("WAR-2", claim["id"])
    fault = next((name for words, name in _FAULTS if words in desk.body), "dead")
    remedy = "replace" if product["stock"] > 0 else "repair"
    yield from desk.ask("open_warranty_claim", line_id=line["id"], fault=fault, remedy=remedy)
    yield from desk.resolve("It is under warranty, and we take care of it.")


def keep_goods(desk: Terminal) -> Script:
    """A return that is called off."""
    order, _, _, line, _ = yield from _line(desk)
    returns = yield from desk.ask("get_returns", order_id=order["id"])
    for back in returns["returns"]:
        if back["line_id"] == line["id"] and back["status"] == "received":
            yield from desk.decline("RET-5", back["id"])
        if back["line_id"] == line["id"] and back["status"] == "authorised":
            yield from desk.read("RET-5")
            yield from desk.ask("cancel_return", return_id=back["id"])
            yield from desk.resolve("Your return is cancelled; please keep it.")


def renew_claim(desk: Terminal) -> Script:
    """A new piece in place of a repair."""
    _, _, _, line, product = yield from _line(desk)
    claims = yield from desk.ask("get_warranty_claims", line_id=line["id"])
    claim = claims["claims"][-1]
    if claim["status"] != "open":
        yield from desk.decline("WAR-2", claim["id"])
    if product["stock"] == 0:
        yield from desk.decline("WAR-2", product["id"])
    yield from desk.read("WAR-2")
    yield from desk.ask("withdraw_warranty_claim", claim_id=claim["id"])
    yield from desk.ask("open_warranty_claim", line_id=line["id"], fault=claim["fault"], remedy="replace")
    yield from desk.resolve("It is in stock again, so we send you a new one.")


def pay_for_wait(desk: Terminal) -> Script:
    """Credit for a warranty claim that takes long."""
    order, _, customer, line, _ = yield from _line(desk)
    claims = yield from desk.ask("get_warranty_claims", line_id=line["id"])
    known = yield from desk.ask("get_credits", customer_id=customer["id"])
    for credit in known["credits"]:
        if credit["order_id"] == order["id"] and credit["reason"] == "goodwill":
            yield from desk.decline("LOY-3", credit["id"])
    claim = claims["claims"][-1]
    if (desk.today - date.fromisoformat(claim["opened"][:10])).days <= 14:
        yield from desk.decline("LOY-3", claim["id"])
    yield from desk.read("LOY-3")
    paid = yield from desk.ask("compute_paid", line_id=line["id"], quantity=1)
    due = {"order_id": order["id"], "amount_cents": rounded_share(paid["paid_cents"], 10), "reason": "goodwill"}
    yield from desk.ask("give_credit", customer_id=customer["id"], **due)
    yield from desk.resolve("We are sorry for the wait; it is in your account.")


def tell_warranty_end(desk: Terminal) -> Script:
    """Until when a warranty runs, or which parcel has to arrive first."""
    order, _, _, line, _ = yield from _line(desk)
    warranty = yield from desk.ask("compute_warranty", line_id=line["id"])
    if warranty:
        yield from desk.tell(f"Your warranty ends on {warranty['warranty_ends']}.")
        yield from desk.end(ends=warranty["warranty_ends"])
    parcels = yield from desk.ask("get_shipments", order_id=order["id"])
    yield from desk.tell("Your warranty begins when the last parcel arrives.")
    yield from desk.end(awaited=parcels["shipments"][-1]["id"])
