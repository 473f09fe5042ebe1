"""The sum of what was paid since a day: the day decides, and the account does not show the sum."""

import re
from datetime import date

from palaestra.envs import bundled_tasks, open_world
from palaestra.envs.worlds.storefront.schema import Customer, Order, Ticket


def test_the_day_leaves_an_order_out_and_the_account_does_not_show_the_answer() -> None:
    tasks = bundled_tasks(open_world("storefront"))
    for split in tasks.splits:
        for task in (t for t in tasks.candidates(split) if t.startswith("storefront/net-paid/")):
            instance = tasks.instance(task)
            rows, prompt = instance.initial_state, instance.messages[1]["content"]
            since, ticket = re.search(r"\d{4}-\d\d-\d\d", prompt), re.search(r"TCK-\d+", prompt)
            assert since is not None
            assert ticket is not None
            owner = rows.get(Customer, rows.get(Ticket, ticket[0]).customer_id)
            sent = [o for o in rows.find(Order, customer_id=owner.id) if o.status in {"shipped", "delivered"}]
            assert any(order.placed.date() < date.fromisoformat(since[0]) for order in sent), task
            assert instance.oracle[-1].arguments["answer"] != {"net_cents": owner.lifetime_cents}, task
