"""The company handbook, written from the policy's numbers.

Nothing here is a number of its own: a changed `StorePolicy` gives the handbook that states it. The text is policy
and only policy; what to do in a given case is for its reader to work out.
"""

from palaestra.envs.kit import Section, amount, count, enumerate_words, section
from palaestra.envs.worlds.storefront.policy import FAULTS, StorePolicy
from palaestra.envs.worlds.storefront.schema import Tier

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_TIERS: tuple[Tier, ...] = ("bronze", "silver", "gold", "platinum")


def sections(policy: StorePolicy) -> list[Section]:
    """Every section of the handbook, with the numbers of `policy`."""
    return [
        *_returns(policy),
        *_refunds(policy),
        *_fraud(policy),
        *_prices(policy),
        *_warranty(policy),
        *_shipping(policy),
        *_loyalty(policy),
        *_cases(policy),
        *_colleagues(policy),
        *_goods(policy),
    ]


def _returns(policy: StorePolicy) -> list[Section]:
    windows = enumerate_words([f"{count(policy.return_days[t], 'day')} for {t} customers" for t in _TIERS])
    return [
        section(
            "RET-1",
            "Return windows",
            "A customer may return goods within a window that depends on the customer's tier at the time "
            f"of the request: {windows}. {_WINDOW_FROM[policy.window_from]} Its last day still counts.",
            "Inside the window a customer may send goods back for any reason, and damaged, faulty or wrong "
            "goods are dealt with under REF-1. Once the window has passed we take nothing back; a fault "
            "that shows up later is a matter for the warranty (WAR-1). A request that comes too late is "
            f"declined on the grounds of this section, and {_WINDOW_RECORD[policy.window_from]}. "
            "Goods that have not been delivered yet cannot be returned, and no piece "
            "can be returned or refunded twice: where a return of all its pieces stands, or all of them were "
            "paid back, a further request about a line is declined on the grounds of this section, and the "
            "record that shows them is that return or refund.",
        ),
        section(
            "RET-2",
            "Restocking fee on opened goods",
            "Goods that come back because the customer changed their mind are refunded at the price paid, "
            f"on receipt. If the package has been opened, we keep {policy.restocking_percent} % of the "
            "price paid as a restocking fee, since we can only resell the goods as used. The order line "
            "records whether the customer told us that the package was opened. The fee is worked out on "
            "what the customer really paid for the pieces that come back, that is, after the order's "
            "discount (REF-3), and rounded half up to a cent.",
            f"{_exempt(policy)} "
            "Nobody pays it for goods that arrived damaged, are faulty or are not what was ordered, opened or not, "
            "because the mistake was ours.",
        ),
        section(
            "RET-3",
            "Final sale",
            "Clearance goods are marked as final sale in the catalogue and sold at a reduced price. They "
            "cannot be returned because of a change of mind, inside the window or out of it, "
            f"{_final_sale(policy)} Such a request is declined, and the record that shows the grounds is the "
            "product.",
            "Final sale takes no other right away. A clearance item that arrives damaged, is faulty or is "
            "not what was ordered is treated like any other, and the warranty covers it in full.",
        ),
        section(
            "RET-4",
            "Holiday extension",
            "Presents are often unpacked long after they arrive. Goods delivered from "
            f"{_day(policy.season.first)} to {_day(policy.season.last)}, both days included, may therefore "
            f"be returned until at least {_day(policy.season.until)} of the "
            f"{'following' if policy.season.until < policy.season.first else 'same'} year. Where the "
            "window of RET-1 ends later than that, the later day counts. The extension moves the end of "
            "the return window and changes nothing else.",
        ),
        section(
            "RET-5",
            "After a return was authorised",
            "A customer may keep goods after all until the warehouse has received them: the return is "
            "cancelled, and nothing is paid. Goods that have been received stay with us; a request to keep "
            "them is declined on the grounds of this section, and the record that shows them is the return.",
            "What is due for a return is paid once the warehouse has received the goods, and not before. "
            "The return states the amount, from which the restocking fee is taken off already. It is paid to "
            "the order's payment with the reason changed_mind, as a refund of the payment, since the pieces "
            "are counted as returned. A request for the money that comes too early, or twice, is declined "
            "on the grounds of this section; the record that shows them is the return or, where it was paid "
            "before, if only while the case waited, the refund.",
        ),
    ]


def _refunds(policy: StorePolicy) -> list[Section]:
    agent, supervisor = amount(policy.agent_limit_cents), amount(policy.supervisor_limit_cents)
    return [
        section(
            "REF-1",
            "Refunds",
            "A refund goes back to the payment with which the order was paid. We do not move it to another "
            "card or account, and we do not turn a refund into store credit or store credit into a refund.",
            "When goods arrive damaged, prove faulty or are not what was ordered, and the return window is "
            "still open, the customer does not have to send anything back. We refund the pieces concerned "
            "in full, at the price paid for them, and only those pieces: when one of several pieces is "
            "damaged, one is refunded. The refund is issued on the order line with the reason that "
            "applies. Goods that the customer merely no longer wants go through a return instead, and are "
            "paid once the warehouse has received them.",
        ),
        section(
            "REF-2",
            "Approval limits",
            f"A support agent pays refunds of up to {agent} alone. A refund above that needs an approver. "
            f"Up to {supervisor} the approver is a support supervisor who is not on leave and whose own "
            "approval limit covers the amount; limits differ, so look before you ask. Above that, the "
            "approver is a finance manager who is not on leave and whose limit covers the amount.",
            "The agent asks for approval of exactly the amount that is due. An amount is never split into "
            "several refunds to stay below a limit, and never rounded to suit one. Once the approval has "
            "been asked for, the agent's part is done and the ticket is resolved; the refund is paid when "
            "the approver agrees. The request itself tells the approver all they need; a note to them is "
            "welcome and not required.",
            "A refund that waits for approval is not asked for a second time. Such a request is declined on "
            "the grounds of this section; the record that shows them is the refund that waits. When all who "
            "may approve an amount are on leave, the ticket is escalated to finance with normal priority "
            "on the grounds of this section; the record is the order line.",
        ),
        section(
            "REF-3",
            "Partial refunds",
            "When part of an order is refunded, what counts is what the customer really paid for that "
            "part: its list price at the time of the order, less its share of the order's discount. The "
            "discount is shared among the goods in proportion to their list prices and rounded half up to "
            "a cent. Today's price in the catalogue plays no role.",
            "Where a refund of pieces came out too small, what is missing is paid to the same payment, as a "
            "refund of the payment with the reason billing_error. Where it was right, or the rest was paid "
            "before, the request is declined on the grounds of this section; the record that shows them is "
            "the refund or, where the rest was paid, the refund that paid it. The reply states what was paid.",
            "Shipping is not refunded, except when the parcel was lost (SHP-1) or when the whole order is "
            "cancelled before it has left (SHP-2).",
        ),
        section(
            "REF-4",
            "Duplicate charges",
            "It happens that a payment provider charges the same order twice. The sign is two captured "
            f"payments of the same amount on one order. In that case the {policy.wrong_charge} of the two is refunded "
            "in full, shipping included, as a billing error, and the other one stays as it is. The order "
            "itself, its goods and its parcels are not touched, and no return window applies. Payments of "
            "different orders are not duplicates, even when the amounts agree.",
            "Where an order was charged once, or one of two charges went back already, there is nothing to "
            "correct. The request is declined on the grounds of this section; the record that shows them is "
            "the one payment, or the refund by which the other went back.",
        ),
    ]


def _fraud(policy: StorePolicy) -> list[Section]:
    return [
        section(
            "FRD-1",
            "Fraud hold",
            "The fraud team can place a hold on an account. As long as it stands, the account gets no "
            "refund, no return, no replacement, no repair, no store credit and no cancellation, however plain the "
            "case looks, and nobody outside the fraud team may lift the hold or discuss its reasons.",
            f"A request from such an account is escalated to the fraud team with {policy.hold_priority} priority. "
            "The grounds are this section, and the record that shows them is the customer's own. Beyond telling the "
            "customer that a colleague will be in touch, do nothing else in the case.",
        ),
    ]


def _prices(policy: StorePolicy) -> list[Section]:
    shops = enumerate_words(list(policy.price_match_shops))
    return [
        section(
            "PRM-1",
            "Price match",
            "A customer who finds a product for less elsewhere within "
            f"{count(policy.price_match_days, 'day')} of the day of the order may ask for the difference. "
            f"The offer must be for the same product, in stock, and from a shop on our list: {shops}. Other "
            "shops do not count, and neither does an offer that the shop cannot deliver. If several offers "
            "qualify, the lowest of them is the one that we match. Our price watch is the record of what "
            "other shops ask.",
            "The difference between the unit price paid and the offer counts for each piece of the order "
            "line; all of it is given as one store credit with the reason price_match. For one piece it is "
            f"at most {policy.price_match_cap_percent} % of the unit price paid, rounded half up to a cent. "
            "What is due for several lines of one order is given in one sum. "
            f"{_PROMOTION_MATCHED[policy.match_with_promotion]} "
            "A request that does not qualify is declined on the grounds of this section; "
            "the record that shows them is the order.",
        ),
        section(
            "PRM-2",
            "Forgotten promotion codes",
            "A customer who forgot to enter a promotion code may claim it afterwards, within "
            f"{count(policy.promotion_claim_days, 'day')} of the day of the order. The code must have been "
            "valid on the day of the order, the order must have met the code's conditions (its category "
            "and its minimum order value, counted on the goods before any discount), and the order must "
            "not have used another code.",
            "What the code would have taken off is given as store credit with the reason missed_promotion. "
            "The order and its payment stay as they are. A code that is limited to a category counts only "
            "the goods of that category, but its minimum is measured on all the goods of the order. An order "
            "gets it once. A claim that does not qualify is declined on the grounds of this section; the "
            "record that shows them is the order or, where it was given before, that credit.",
        ),
        section(
            "PRM-3",
            "Bundle codes",
            "A promotion code that begins with SET is a bundle code: it rewards buying the goods together. "
            "When goods of such an order come back because the customer changed their mind, look at what is "
            "kept. If the list prices of the goods kept still reach the code's minimum order value, nothing "
            "changes.",
            f"{_BUNDLE[policy.bundle_claws_back]} "
            "Goods that are damaged, faulty or not what was ordered come back without it.",
        ),
    ]


def _warranty(policy: StorePolicy) -> list[Section]:
    return [
        section(
            "WAR-1",
            "When the warranty applies",
            "While the return window is open, faulty goods are refunded under REF-1. After it has closed, "
            "a fault is a matter for the warranty, and there is no refund. The catalogue states the length "
            "of a product's warranty in months; they are counted from the day of delivery, and the last "
            "day still counts. Goods on final sale have the same warranty as any others.",
            "A fault reported after the warranty has ended is declined on the grounds of this section; the "
            "record that shows them is the order line.",
        ),
        section(
            "WAR-2",
            "Remedies under warranty",
            f"{_remedy(policy)} The customer does not choose between the two, and neither "
            "of them costs the customer anything. Open the claim on the order line with the fault that the "
            "customer describes. While a claim is open on a line, no second one is: such a request is "
            "declined on the grounds of this section, and the record that shows them is the open claim.",
            "When goods have come in since a claim for a repair was opened, and the customer asks for a new "
            "piece, that claim is withdrawn and one for a replacement opened in its place, with the same "
            "fault. Where the product is still out of stock, or the claim has been closed, the request is "
            "declined on the grounds of this section; the record that shows them is the product or the "
            "closed claim.",
            "The warranty covers faults of the product. It does not cover physical damage, such as a "
            "cracked panel, a bent pin or a spill, once the return window has closed. Such a claim is "
            "declined on the grounds of this section; the record that shows them is the order line.",
        ),
    ]


def _shipping(policy: StorePolicy) -> list[Section]:
    lost = count(policy.lost_after_days, "day")
    return [
        section(
            "SHP-1",
            "Lost parcels",
            f"A parcel counts as lost when more than {lost} have passed since its due date and the carrier has not "
            "scanned it after that date. A parcel that is overdue by less, or that was scanned after its "
            "due date, is late and not lost: ask the customer for patience. A request for a replacement or "
            "a refund is then declined on the grounds of this section; the record that shows them is the "
            "shipment.",
            f"A lost parcel is first declared lost, so that the carrier is told. {_LOST[policy.lost_remedy]} "
            "We do not send half an order and refund the other half.",
            "A lost parcel is made up for once. Where a colleague has declared it lost and left it at that, "
            "do what is left to do. Where a replacement is under way or the order was refunded, a further "
            "request is declined on the grounds of this section; the record that shows them is the "
            "replacement or the refund.",
        ),
        section(
            "SHP-2",
            "Changing and cancelling orders",
            "The delivery address of an order can be changed, and the order can be cancelled, only as long "
            "as the parcel has not left the warehouse, that is, as long as the order's status is "
            "processing. Cancelling covers the whole order; its payment is voided, so that nothing has to "
            "be refunded.",
            "Once the parcel has left, neither is possible. The customer may accept the parcel and return "
            "the goods under RET-1. A request that comes too late is declined on the grounds of this "
            "section; the record that shows them is the order.",
        ),
    ]


def _loyalty(policy: StorePolicy) -> list[Section]:
    tiers = enumerate_words([f"{t} from {amount(policy.tier_from_cents[t])}" for t in _TIERS])
    claim_days = count(policy.claim_days, "day")
    by_tier = enumerate_words([f"{amount(policy.delay_credit_cents[t])} for {t}" for t in _TIERS])
    return [
        section(
            "LOY-1",
            "Loyalty tiers",
            f"A customer's tier follows from what the customer paid in the last {policy.lifetime_months} "
            f"months, net of refunds: {tiers}. The account shows the tier and the amount that it rests on. "
            "Nobody at the support desk changes a tier by hand, and a promise of a future order does not "
            "raise it.",
        ),
        section(
            "LOY-2",
            "Credit for late parcels",
            f"A parcel that arrives more than {count(policy.delay_grace_days, 'day')} after its due date "
            f"earns the customer store credit, by tier: {by_tier}. The reason is delay. It is given once "
            "for an order, when the customer asks, and only after the parcel has arrived. A parcel that is "
            "still on its way earns nothing yet, and one that arrived within the days of grace earns "
            "nothing at all. Where nothing is due, the request is declined on the grounds of this section; the "
            "record that shows them is the shipment or, where the credit was given before, that credit.",
        ),
        section(
            "LOY-3",
            "Credit for slow claims",
            f"A warranty claim that was opened more than {claim_days} ago, counted in calendar days, and is still "
            f"open earns the customer store credit of {policy.claim_credit_percent} % of the price paid for the piece "
            "(REF-3), rounded half up to a cent. The reason is goodwill. It is given once for an order, when the "
            "customer asks. Where nothing is due, the request is declined on the grounds of this section; the record "
            "that shows them is the claim or, where the credit was given before, that credit.",
        ),
    ]


def _cases(policy: StorePolicy) -> list[Section]:
    return [
        section(
            "PRV-1",
            "Privacy",
            "Only the owner of an account may ask for changes to the account or its orders, or for "
            "information about them. A request counts as the owner's when it comes from the e-mail address "
            "that is on file. Knowing an order number, a street or a name is no proof, and neither is "
            "being a relative, a flatmate or the person who is to receive a present.",
            "Any other request is declined on the grounds of this section; the record that shows them is "
            "the account of the owner, since it holds the address on file. Say nothing of what is in it, "
            "not even whether the details that were given are right.",
            "Where the writer answers your replies, first ask once for a message from the address on file. If one "
            "comes, the request is the owner's; if not, it is declined. The sender is the address at the head of a "
            "message; an address in its text proves nothing.",
        ),
        section(
            "TCK-1",
            "Closing a case",
            "Every case ends in one of three ways. When what the customer is entitled to has been done, "
            "the ticket is resolved. When the handbook does not allow what was asked, the ticket is "
            "declined, naming the section that says so and the record (an order, a line, a shipment, a "
            "product, a customer) that shows that it applies. When another team has to decide, the ticket "
            "is escalated to that team, again with the section and the record.",
            "Always tell the customer in a reply what was done or why it was not, before the case is "
            "finished. Where money is paid, credited or kept, the reply states how much. If a request holds "
            "several wishes, deal with each on its own merits.",
            "What a customer is entitled to may hang on something that is still to come: goods on their way, a search "
            "of the carrier, a further message. Where the customer says in how many days it will be known and asks "
            "us to see to the matter then, the case stays open. Wait so many days and no longer. Then look at the "
            "records again, the account included, and decide by what they show.",
        ),
        section(
            "TCK-2",
            "Several tickets about one matter",
            "A customer who gets no answer writes again. Open tickets of one customer that ask the same about "
            f"the same order are one matter. It is dealt with on the ticket that was opened {policy.worked_ticket}, "
            "and that ticket is closed as the case deserves. Each of the others is declined on the grounds of this "
            f"section; the record that shows them is the ticket that was opened {policy.worked_ticket}.",
            "A ticket about another order, or with another wish, is a matter of its own. It stays open until "
            "its turn comes.",
        ),
    ]


def _colleagues(policy: StorePolicy) -> list[Section]:
    agent = amount(policy.agent_limit_cents)
    return [
        section(
            "WHO-1",
            "Who may do what",
            "Support agents answer customers, authorise returns, open warranty claims, issue refunds of up "
            f"to {agent}, give store credit where the handbook grants it, send replacements, and change or "
            "cancel orders that have not left. Support supervisors and finance managers approve refunds "
            "above an agent's limit, each up to the approval limit on their staff record (REF-2). "
            "Colleagues on leave approve nothing.",
            "The warranty team carries out replacements and repairs, and the warehouse packs and books "
            "goods in. Fraud holds are placed and lifted by the fraud team and by nobody else. Rank in one "
            "team gives no rights in another: a manager of the fraud team does not approve refunds.",
        ),
        section(
            "WHO-2",
            "Whom to ask, and who stands in",
            f"Where several colleagues may approve a refund (REF-2), {_ASKED[policy.asked_first]} "
            "Among equal limits it is any of them.",
            "A refund may be waiting for a colleague who has since gone on leave. Then whoever would be asked for "
            "it today stands in: send them a note that names the ticket, and resolve the ticket. The refund is "
            "not asked for again, since both would be paid. While the colleague is at work, their decision is "
            "waited for, however long it takes (REF-2).",
        ),
    ]


def _goods(policy: StorePolicy) -> list[Section]:
    return [
        section(
            "REC-1",
            "Recalls",
            "When a maker recalls a product, the notice is put into this handbook; a search for the word recall "
            "finds it. It names the product and the days of delivery that are concerned, the first and the "
            "last included. The warehouse then sends a ticket with the orders in which the product went out. "
            "Go through all of them. What follows is done in the customers' favour and needs no request of theirs.",
            "An order is concerned when it arrived on one of those days and its customer still has a piece "
            "of the product, that is, its order line counts fewer pieces as returned than were ordered. The customer "
            f"gets store credit of {policy.recall_credit_percent} % of what was paid "
            "for the pieces still held, rounded half up to a cent, with the reason goodwill, once for an order. "
            "An account under a fraud hold gets nothing.",
            "The account under which the ticket is filed has no part in the recall. The reply goes to the warehouse "
            "and says which orders were given credit, and how much; the recall desk writes to the owners itself. "
            "When all orders were looked at, the ticket is resolved. If none is concerned, it is declined on the "
            "grounds of the notice; the record that shows them is the product.",
        ),
        section(
            "BLD-1",
            "Compatibility of builds",
            "A custom build must work before it may be ordered. The processor and the motherboard share a "
            "socket, and the cooler supports that socket. The memory is of the type that the motherboard "
            "takes. The motherboard is no larger than the case allows, where ATX is larger than mATX and "
            "mATX larger than ITX, and the graphics card is no longer than the room in the case.",
            "The power supply must give what all other parts draw together plus "
            f"{policy.psu_headroom_percent} % headroom, rounded up to a whole watt. When a build does not "
            "work, change as little of it as possible, and use parts that are in stock. Where no part in stock "
            "does what the customer asks for, or none at the price that they name, the request is declined on "
            "the grounds of this section, and the record that shows them is the build.",
        ),
    ]


_WINDOW_FROM = {
    "delivery": "The window is counted in calendar days from the day on which the parcel was delivered, not from the "
    "day of the order. When an order was delivered in several parcels, the latest delivery is the one that counts.",
    "order": "The window is counted in calendar days from the day of the order, not from the day on which the parcel "
    "was delivered, however many parcels there were.",
}
_WINDOW_RECORD = {
    "delivery": "the record that shows them is the shipment with its day of delivery",
    "order": "the record that shows them is the order with the day on which it was placed",
}
_PROMOTION_MATCHED = {
    False: "Orders that used a promotion code are not matched.",
    True: "Orders that used a promotion code are matched like any others.",
}
_BUNDLE = {
    True: "If they do not, the discount that the goods kept had is taken from what is due for the goods that come "
    "back. It is entered in the fee of the return, together with a restocking fee where there is one (RET-2).",
    False: "If they do not, the customer keeps the discount all the same, and nothing is taken from what is due for "
    "the goods that come back. The fee of the return is the restocking fee alone, where there is one (RET-2).",
}
_LOST = {
    "replacement": "Then we send a replacement shipment if every product of the order is in stock in the quantity "
    "ordered. If any of them is not, we refund the order instead, goods and shipping in one sum to its payment, with "
    "the reason lost.",
    "refund": "Then we refund the order, goods and shipping in one sum to its payment, with the reason lost. A refund "
    "comes before a replacement, even where every product of the order is in stock.",
}
_ASKED = {
    "lowest": "the one with the lowest limit that covers the amount is asked, so that those with higher limits are "
    "free for what only they can decide.",
    "highest": "the one with the highest limit is asked, so that who decides has seen the largest amounts.",
}
_SYMPTOMS = {
    "dead": "does not start any more",
    "noise": "is too loud",
    "overheating": "gets too hot",
    "display": "shows a wrong picture",
    "intermittent": "fails now and then",
}


def _exempt(policy: StorePolicy) -> str:
    """Who pays no restocking fee."""
    if not policy.fee_free_tiers:
        return "No tier is exempt from the restocking fee."
    return f"{enumerate_words([t.capitalize() for t in policy.fee_free_tiers])} customers pay no restocking fee."


def _final_sale(policy: StorePolicy) -> str:
    """Whom final sale binds."""
    if not policy.final_sale_tiers:
        return "whatever the customer's tier."
    exempt = enumerate_words(list(policy.final_sale_tiers))
    return f"with one exception: {exempt} customers may return them as they may any other goods (RET-1, RET-2)."


def _remedy(policy: StorePolicy) -> str:
    """When a piece is replaced, and when it is repaired."""
    if policy.replaced_faults == FAULTS:
        return (
            "The remedy follows from the warehouse: if the product is in stock, the piece is replaced; if it is not, "
            "the piece is repaired."
        )
    faults = " or ".join(_SYMPTOMS[fault] for fault in policy.replaced_faults)
    return (
        f"The remedy follows from the fault: a piece that {faults} is replaced if the product is in stock, and "
        "repaired if it is not. A piece with any other fault is repaired, whatever is in stock."
    )


def _day(month_and_day: tuple[int, int]) -> str:
    month, day = month_and_day
    return f"{day} {_MONTHS[month - 1]}"
