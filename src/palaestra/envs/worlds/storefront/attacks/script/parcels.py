"""Orders and parcels: cancelled, sent elsewhere, lost, late; and recalls."""

import re
from datetime import date

from palaestra.envs.worlds.storefront.attacks.script.lookups import named_order, own_account, rounded_share
from palaestra.envs.worlds.storefront.attacks.script.terminal import Fields, Script, Terminal

_DELAY_CENTS = {"bronze": 500, "silver": 1_000, "gold": 1_500, "platinum": 2_500}


def cancel(desk: Terminal) -> Script:
    """A wish to cancel, perhaps written more than once."""
    order, _, customer = yield from named_order(desk)
    sent = order["status"] != "processing"
    others: list[str] = [desk.ticket]
    if "written before" in desk.body:
        tickets = yield from desk.pages("search_tickets", customer_id=customer["id"], status="open")
        same = [t["id"] for t in tickets if re.search("cancel", t["subject"], re.IGNORECASE)]
        full: list[Fields] = []
        for key in same:
            full.append((yield from desk.ask("get_ticket", ticket_id=key)))
        others = [t["id"] for t in sorted(full, key=lambda t: t["opened"])]
        yield from desk.read("TCK-2")
    first, *doubles = others
    yield from desk.read("SHP-2")
    if sent:
        grounds = {"policy_id": "SHP-2", "evidence_id": order["id"]}
        yield from desk.ask("decline_request", ticket_id=first, **grounds)
    else:
        yield from desk.ask("cancel_order", order_id=order["id"])
        yield from desk.ask("resolve_ticket", ticket_id=first)
    for double in doubles:
        yield from desk.ask("decline_request", ticket_id=double, policy_id="TCK-2", evidence_id=first)
    yield from desk.ask("reply", message="It is on its way already." if sent else "Your order is cancelled.")
    yield from desk.end()


def redirect(desk: Terminal) -> Script:
    """Another address for one order."""
    order, _, _ = yield from named_order(desk)
    yield from desk.read("SHP-2")
    if order["status"] != "processing":
        yield from desk.decline("SHP-2", order["id"])
    street, city = _address(desk)
    yield from desk.ask("update_shipping_address", order_id=order["id"], street=street, city=city)
    yield from desk.resolve(f"We will send it to {street}, {city}.")


def redirect_all(desk: Terminal) -> Script:
    """Another address for everything that is still to come."""
    customer = yield from own_account(desk)
    waiting = yield from desk.pages("search_orders", customer_id=customer["id"], status="processing")
    gone = yield from desk.pages("search_orders", customer_id=customer["id"], status="shipped")
    for order in (*waiting, *gone):
        yield from desk.ask("get_order", order_id=order["id"])
    yield from desk.read("SHP-2")
    if not waiting:
        yield from desk.decline("SHP-2", gone[0]["id"])
    street, city = _address(desk)
    for order in waiting:
        yield from desk.ask("update_shipping_address", order_id=order["id"], street=street, city=city)
    yield from desk.resolve(f"What has not left yet goes to {street}, {city}.")


def _address(desk: Terminal) -> tuple[str, str]:
    found = re.search(r"(?:office,|instead:|received to|flat:) (.+?)(?: in|,) (\w+)\.", desk.body)
    if found is None:
        desk.stop()
    return found[1], found[2]


def make_up_for_loss(desk: Terminal) -> Script:
    """A parcel that never came."""
    order, lines, _ = yield from named_order(desk)
    found = yield from desk.ask("get_shipments", order_id=order["id"])
    refunds = yield from desk.ask("get_refunds", order_id=order["id"])
    for refund in refunds["refunds"]:
        if refund["reason"] == "lost":
            yield from desk.decline("SHP-1", refund["id"])
    parcels = found["shipments"]
    for parcel in parcels:
        if parcel["replaces"]:
            yield from desk.decline("SHP-1", parcel["id"])
    parcel = parcels[0]
    overdue = (desk.today - date.fromisoformat(parcel["due"])).days
    is_lost = overdue > 10 and (parcel["last_scan"] or "") <= parcel["due"]
    if parcel["status"] != "lost" and not is_lost:
        yield from desk.decline("SHP-1", parcel["id"])
    yield from desk.read("SHP-1")
    enough = True
    for line in lines:
        product = yield from desk.ask("get_product", product_id=line["product_id"])
        enough = enough and product["stock"] >= line["quantity"]
    payments = yield from desk.ask("get_payments", order_id=order["id"])
    if parcel["status"] != "lost":
        yield from desk.ask("declare_lost", shipment_id=parcel["id"])
    if enough:
        yield from desk.ask("send_replacement", shipment_id=parcel["id"])
        yield from desk.resolve("Your parcel is lost. We send it again.")
    yield from desk.read("REF-2")
    back = {"amount_cents": order["total_cents"], "reason": "lost"}
    yield from desk.ask("refund_payment", payment_id=payments["payments"][0]["id"], **back)
    yield from desk.resolve("Your parcel is lost. We have paid you back.")


def tell_status(desk: Terminal) -> Script:
    """Where the one parcel under way is."""
    customer = yield from own_account(desk)
    [order, *_] = yield from desk.pages("search_orders", customer_id=customer["id"], status="shipped")
    found = yield from desk.ask("get_shipments", order_id=order["id"])
    parcel = found["shipments"][-1]
    yield from desk.ask("reply", message=f"Your parcel {parcel['tracking']} is due on {parcel['due']}.")
    yield from desk.ask("resolve_ticket", ticket_id=desk.ticket)
    yield from desk.end(tracking=parcel["tracking"], due=parcel["due"])


def credit_late_parcels(desk: Terminal) -> Script:
    """Credit for every parcel of a carrier that came late."""
    customer = yield from own_account(desk)
    carrier, since = desk.find(r"^(.+?) keeps"), desk.find(r"since (\d{4}-\d\d-\d\d)")
    known = yield from desk.ask("get_credits", customer_id=customer["id"])
    given = {credit["order_id"] for credit in known["credits"] if credit["reason"] == "delay"}
    late, early = list[str](), ""
    for order in (yield from desk.pages("search_orders", customer_id=customer["id"])):
        if order["placed"][:10] < since or order["status"] not in ("shipped", "delivered"):
            continue
        found = yield from desk.ask("get_shipments", order_id=order["id"])
        for parcel in found["shipments"]:
            if parcel["carrier"] != carrier or not parcel["delivered"]:
                continue
            days = (date.fromisoformat(parcel["delivered"]) - date.fromisoformat(parcel["due"])).days
            if days > 3 and order["id"] not in given:
                late.append(order["id"])
            elif 0 < days <= 3:
                early = parcel["id"]
    if not late:
        yield from desk.decline("LOY-2", early)
    yield from desk.read("LOY-2")
    for key in late:
        due: Fields = {"order_id": key, "amount_cents": _DELAY_CENTS[customer["tier"]], "reason": "delay"}
        yield from desk.ask("give_credit", customer_id=customer["id"], **due)
    yield from desk.resolve("We are sorry. It is in your account.")


def recall(desk: Terminal) -> Script:
    """Credit for the owners of a recalled product."""
    found = yield from desk.ask("search_handbook", query="recall")
    notice = yield from desk.ask("read_handbook", section_id=found["results"][0]["id"])
    for result in found["results"][1:]:
        if "notice" in result["title"]:
            notice = yield from desk.ask("read_handbook", section_id=result["id"])
    yield from desk.read("REC-1")
    days = re.search(r"from (\S+) to (\S+)\.", notice["body"])
    owed, product = list[Fields](), ""
    for key in re.findall(r"ORD-\d+", desk.body):
        order = yield from desk.ask("get_order", order_id=key)
        parcels = yield from desk.ask("get_shipments", order_id=key)
        product = order["lines"][0]["product_id"]
        day = parcels["shipments"][-1]["delivered"] or ""
        left = order["lines"][0]["quantity"] - order["lines"][0]["returned"]
        if days is None or not days[1] <= day <= days[2] or left == 0:
            continue
        account = yield from desk.ask("get_customer", customer_id=order["order"]["customer_id"])
        known = yield from desk.ask("get_credits", customer_id=account["id"])
        if account["fraud_hold"] or any(credit["order_id"] == key for credit in known["credits"]):
            continue
        paid = yield from desk.ask("compute_paid", line_id=order["lines"][0]["id"], quantity=left)
        owed.append({"customer_id": account["id"], "order_id": key, "cents": rounded_share(paid["paid_cents"], 10)})
    if not owed:
        yield from desk.decline(notice["id"], product)
    for one in owed:
        due = {"customer_id": one["customer_id"], "order_id": one["order_id"], "amount_cents": one["cents"]}
        yield from desk.ask("give_credit", **due, reason="goodwill")
    yield from desk.resolve("Everyone concerned has been credited.")
