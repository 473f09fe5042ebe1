"""Broken after the warranty has ended: declined, on the right grounds."""

from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.desk import Desk, decline_calls
from palaestra.envs.worlds.storefront.lookups import about_goods
from palaestra.envs.worlds.storefront.replies import window_closed
from palaestra.envs.worlds.storefront.schema import OrderLine
from palaestra.rubrics import expect_call, expect_read


@family("storefront/decline-expired-warranty", level=2, traits=("refusal",))
def decline_expired_warranty(desk: Desk) -> Task:
    line = desk.pick(
        OrderLine, lambda x: desk.claimable(x) and desk.warranty_ends(x) < desk.today, what="line past its warranty"
    )
    order, product = desk.order(line), desk.product(line)
    customer = desk.customer(order)
    request = requests.faulty(desk, order, product, requests.fault_of(desk.stream, product))
    facts = ["saw-line", "saw-account", "knew-delivery", "knew-warranty", "read-RET-1"]
    ticket = desk.ticket(customer, request.subject)
    ended = f"Its warranty ended on {desk.warranty_ends(line)}, so we cannot help with it."
    return Task(
        prompt=desk.mail(ticket, request.body),
        rubric=[
            expect_read(line, id="saw-line"),
            desk.account(customer),
            desk.delivery(line, expect_call("compute_warranty", arguments={"line_id": line.id})),
            desk.warranty(line),
            desk.read("RET-1"),
            *desk.expect_declined(ticket, "WAR-1", line, after=facts),
        ],
        oracle=[
            *about_goods(order, line),
            call("read_handbook", section_id="WAR-1"),
            call("compute_warranty", line_id=line.id),
            *decline_calls(ticket, "WAR-1", line, f"{window_closed(desk, line)} {ended}"),
        ],
        alternatives=[
            [
                call("read_handbook", section_id="WAR-1"),
                call("read_handbook", section_id="RET-1"),
                call("get_order", order_id=order.id),
                call("compute_warranty", line_id=line.id),
                call("get_customer", customer_id=customer.id),
                *decline_calls(ticket, "WAR-1", line, f"I am sorry. {ended}"),
            ]
        ],
    )
