"""A task family outside the package: a customer has a new telephone number."""

from palaestra.envs.storefront import Customer, Desk, Task, call, changed, closing, family


@family("storefront/new-phone-number", level=1, traits=("write",))
def new_phone_number(desk: Desk) -> Task:
    customer = desk.pick(Customer, lambda c: not c.fraud_hold)
    phone = f"+43 1 {desk.stream.between(100_000, 999_999)}"
    ticket = desk.ticket(customer, "My new number")
    return Task(
        prompt=desk.mail(ticket, f"I have a new telephone number: {phone}. Please keep it with my account."),
        rubric=[
            desk.account(customer),
            changed(customer, {"phone": phone}, id="phone", after=["saw-account"]),
            *desk.resolved(ticket, after=["phone"]),
        ],
        oracle=[
            call("get_ticket", ticket_id=ticket.id),
            call("get_customer", customer_id=customer.id),
            call("update_customer", customer_id=customer.id, phone=phone),
            *closing(ticket, "Your new number is in your account."),
        ],
    )
