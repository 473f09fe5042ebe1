"""A customer wants a higher tier by a word of ours: declined, since nobody at the desk changes a tier by hand."""

from palaestra.envs.worlds.storefront import Customer, Desk, Task, call, decline_calls, family

# What customers write. Several wordings keep an agent from learning one of them by heart.
WORDS = (
    "I have been a customer for years. Please make me a {tier} customer.",
    "A colleague of yours said that I would be {tier} by now. Please see to it.",
    "I am about to order a lot. Can you put me into the {tier} tier for it?",
)


# The id names the world and the family. `level` is the difficulty, 1 to 3. The trait "refusal" says that refusing is
# the right answer: such a family needs no refusal twin.
@family("storefront/my-family", level=2, traits=("refusal",))
def my_family(desk: Desk) -> Task:
    """Set one task: `desk` is a fresh world, and all that differs between tasks is drawn from it."""
    # Pick. The first pick is dealt out without repetition, so that the tasks of one world differ.
    customer = desk.pick(
        Customer, lambda c: c.tier in ("bronze", "silver") and not c.fraud_hold, what="customer of a lower tier"
    )
    # Draw. All randomness comes from `desk.stream`: the same task is the same on every machine.
    body = desk.stream.choice(WORDS).format(tier=desk.stream.choice(("gold", "platinum")))
    # Plant. What is written before this function returns is there when the episode begins.
    ticket = desk.ticket(customer, "My tier")
    return Task(
        prompt=desk.mail(ticket, body),
        # What an expert would check, in the order in which people read it. Leave `rubric` out, and it is derived from
        # the oracle; an expert's is fairer, since they know what need not be read.
        rubric=[
            # A look-up: the account shows the tier and the amount that it rests on.
            desk.account(customer),
            # The decision: declined under this section, with the account as the record that shows it, and told. To
            # refuse for another reason, or before looking, is not right.
            *desk.expect_declined(ticket, "LOY-1", customer, after=["saw-account"]),
        ],
        # Calls that solve it. The proof plays them, and thousands of variants of them that must fail.
        oracle=[
            call("get_ticket", ticket_id=ticket.id),
            call("get_customer", customer_id=customer.id),
            call("read_handbook", section_id="LOY-1"),
            *decline_calls(
                ticket, "LOY-1", customer, "A tier follows from what was bought; we cannot change it by hand."
            ),
        ],
        # Other right ways. The rubric is held to accepting them.
        alternatives=[
            [
                call("read_handbook", section_id="LOY-1"),
                call("search_customers", query=customer.email),
                call("get_customer", customer_id=customer.id),
                call("reply", message="I am sorry, but nobody here can change a tier."),
                call("decline_request", ticket_id=ticket.id, policy_id="LOY-1", evidence_id=customer.id),
                call("finish"),
            ]
        ],
    )
