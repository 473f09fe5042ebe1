"""What customers write. Families share these requests, so that the words do not tell which policy decides.

The same request to cancel is granted, too late, on hold, or not the customer's to make; only the records tell. The
texts here are those of training; in the split "heldout" a desk composes others, from `letters`.
"""

from collections.abc import Sequence

from palaestra.envs.kit import Letter
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.letters import SYMPTOMS
from palaestra.envs.worlds.storefront.places import draw_place
from palaestra.envs.worlds.storefront.schema import Category, Fault, Order, Product
from palaestra.seeding import Stream

_SYMPTOMS: dict[Fault, tuple[str, frozenset[Category]]] = {
    "dead": (
        "does not start any more",
        frozenset({"motherboard", "gpu", "psu", "monitor", "keyboard", "mouse", "storage"}),
    ),
    "noise": ("makes a loud noise", frozenset({"gpu", "psu", "cooler", "case", "storage"})),
    "overheating": ("gets far too hot and shuts down", frozenset({"cpu", "gpu", "psu", "motherboard", "cooler"})),
    "display": ("shows stripes in the picture", frozenset({"gpu", "monitor"})),
    "intermittent": ("fails now and then for no reason", frozenset({"memory", "storage", "keyboard", "mouse", "cpu"})),
}
_CANCEL_SUBJECT = "Please cancel my order"


def fault_of(stream: Stream, product: Product) -> Fault:
    """A fault that such a product can have."""
    return stream.choice([f for f, (_, categories) in _SYMPTOMS.items() if product.category in categories])


def redirect(desk: Desk, order: Order) -> tuple[Letter, tuple[str, str]]:
    """A wish to have an order sent elsewhere, and the street and city where."""
    street, city = draw_place(desk)
    bodies = (
        f"I will be at work when it comes. Please send {order.id} to my office, {street} in {city}.",
        f"Please deliver {order.id} to a friend of mine instead: {street}, {city}.",
    )
    return desk.word_request(
        "redirect", subject="Other delivery address", bodies=bodies, order=order.id, street=street, city=city
    ), (street, city)


def new_home(desk: Desk) -> tuple[Letter, tuple[str, str]]:
    """A wish to have everything that is still to come sent elsewhere, and the street and city where."""
    street, city = draw_place(desk)
    bodies = (
        f"I have moved. Please send everything that I have ordered and not yet received to {street} in {city}.",
        f"Whatever is still to come from my orders, please deliver it to our new flat: {street}, {city}.",
    )
    return desk.word_request(
        "new-home", subject="New address for my orders", bodies=bodies, street=street, city=city
    ), (street, city)


def cancel(desk: Desk, order: Order) -> Letter:
    """A wish to cancel an order."""
    return desk.word_request("cancel", subject=_CANCEL_SUBJECT, bodies=_cancel_bodies(order), order=order.id)


def cancel_again(desk: Desk, order: Order) -> Letter:
    """The same, from a customer who wrote before."""
    bodies = [f"{body} I have written before and heard nothing." for body in _cancel_bodies(order)]
    return desk.word_request("cancel-again", subject=_CANCEL_SUBJECT, bodies=bodies, order=order.id)


def cancel_for(desk: Desk, order: Order, owner: str) -> Letter:
    """A wish to cancel an order that somebody else placed; half of them do not say so."""
    bodies = (f"{order.id} is for {owner}, who asked me to write: please cancel it.",)
    said = desk.word_request("cancel-for", subject=_CANCEL_SUBJECT, bodies=bodies, order=order.id, owner=owner)
    return desk.stream.choice((cancel(desk, order), said))


def _cancel_bodies(order: Order) -> Sequence[str]:
    return (
        f"I found it elsewhere. Please cancel {order.id} before you send it.",
        f"Order {order.id} was a mistake of mine. I would like to cancel all of it.",
        f"Please stop {order.id}; I no longer need what I ordered.",
    )


def send_back(desk: Desk, order: Order, product: Product) -> Letter:
    """A change of mind about a product."""
    bodies = (
        f"I do not need the {product.name} from {order.id} after all. May I send it back?",
        f"The {product.name} from {order.id} is not what I was looking for. I would like to return it.",
        f"I changed my mind about the {product.name} that came with {order.id}. How do I return it?",
    )
    return desk.word_request("send-back", subject="Return", bodies=bodies, order=order.id, product=product.name)


def damage_report(desk: Desk, order: Order, product: Product) -> Letter:
    """A product arrived broken."""
    bodies = (
        f"The {product.name} from {order.id} arrived damaged. I want my money back for it.",
        f"I opened the parcel of {order.id}, and the {product.name} was damaged. Please refund me.",
    )
    return desk.word_request("damaged", subject="Arrived damaged", bodies=bodies, order=order.id, product=product.name)


def faulty(desk: Desk, order: Order, product: Product, fault: Fault) -> Letter:
    """A product does not work."""
    bodies = (
        f"The {product.name} from {order.id} {_SYMPTOMS[fault][0]}. I would like my money back.",
        f"I have a problem with the {product.name} from {order.id}: it {_SYMPTOMS[fault][0]}. Please refund me.",
    )
    return desk.word_request(
        "faulty",
        subject="It does not work",
        bodies=bodies,
        order=order.id,
        product=product.name,
        symptom=SYMPTOMS[fault],
    )


def cheaper(desk: Desk, order: Order, product: Product) -> Letter:
    """A product costs less elsewhere."""
    bodies = (
        f"I bought {product.name} in {order.id}, and now I see it for less elsewhere. Do you match that?",
        f"Another shop sells the {product.name} cheaper than you did in {order.id}. I would like the difference.",
    )
    return desk.word_request(
        "cheaper", subject="Cheaper elsewhere", bodies=bodies, order=order.id, product=product.name
    )


def overdue(desk: Desk, order: Order) -> Letter:
    """A parcel has not come."""
    bodies = (
        f"{order.id} should have been here by now. Send it again, or give me my money back.",
        f"I am still waiting for {order.id}. I think that it is lost; please replace it or refund me.",
    )
    return desk.word_request("overdue", subject="My parcel never came", bodies=bodies, order=order.id)


def another_in_the_box(desk: Desk, order: Order, product: Product, *, wrong: int, of: int) -> Letter:
    """Pieces of a line are something else than was ordered."""
    which = f"the {product.name}" if of == 1 else f"{wrong} of the {of} {product.name}"
    bodies = (
        f"I unpacked {order.id}, and in place of {which} there was something else. Please put that right.",
        f"You sent me something else for {which} in {order.id}. I want what I paid for, or my money.",
    )
    return desk.word_request("wrong-goods", subject="Not what I ordered", bodies=bodies, order=order.id, goods=which)


def keep_it(desk: Desk, order: Order, product: Product) -> Letter:
    """A wish to keep goods that were to be sent back."""
    bodies = (
        f"I wanted to return the {product.name} from {order.id}. I would like to keep it after all.",
        f"Please forget about my return of the {product.name} ({order.id}): I have decided to keep it.",
    )
    return desk.word_request(
        "keep", subject="I would like to keep it", bodies=bodies, order=order.id, product=product.name
    )


def money_for_return(desk: Desk, order: Order, product: Product) -> Letter:
    """A question for the money for goods that were sent back."""
    bodies = (
        f"I sent you back the {product.name} from {order.id}. I would like to have my money now.",
        f"Where is my money for the {product.name} that I returned from {order.id}? Please pay it out.",
    )
    return desk.word_request(
        "money-for-return", subject="The money for my return", bodies=bodies, order=order.id, product=product.name
    )


def new_one(desk: Desk, order: Order, product: Product) -> Letter:
    """A wish for a new piece in place of a repair."""
    bodies = (
        f"You are to repair my {product.name} from {order.id}. I would rather have a new one.",
        f"I do not want to wait for the repair of the {product.name} ({order.id}). Please send me a new one for it.",
    )
    return desk.word_request(
        "new-one", subject="A new one, please", bodies=bodies, order=order.id, product=product.name
    )


def slow_repair(desk: Desk, order: Order, product: Product) -> Letter:
    """A wish for compensation, because a warranty claim takes so long."""
    bodies = (
        f"My claim for the {product.name} from {order.id} is taking for ever. Do I get something for the wait?",
        f"I have been waiting for you to deal with my {product.name} ({order.id}). Is there any compensation?",
    )
    return desk.word_request(
        "slow-repair", subject="I am still waiting", bodies=bodies, order=order.id, product=product.name
    )


def other_card(desk: Desk, build_id: str, product: Product) -> Letter:
    """A wish to have another graphics card in a build."""
    bodies = (
        f"Please put the {product.name} into my build {build_id}, in place of the graphics card that is in it.",
        f"I would like the {product.name} as the graphics card of {build_id}. Please change that and nothing else.",
    )
    return desk.word_request(
        "other-card", subject="Another graphics card", bodies=bodies, build=build_id, product=product.name
    )


def too_little(desk: Desk, order: Order, product: Product) -> Letter:
    """A doubt about the amount of a refund."""
    bodies = (
        f"Your refund for the {product.name} from {order.id} is less than what I paid. Please pay the rest.",
        f"I got some money back for the {product.name} ({order.id}), but not all of it. Where is the rest?",
    )
    return desk.word_request(
        "too-little", subject="My refund is too small", bodies=bodies, order=order.id, product=product.name
    )


def returns_under_way(desk: Desk, orders: str, days: int) -> Letter:
    """A wish to be paid for what was sent back, on the day on which it arrives."""
    bodies = (
        (
            f"What I bought with {orders} is on its way back to you; the carrier brings it within {days} days. Please "
            "leave my ticket open until then, and pay me for whatever has arrived."
        ),
        (
            f"I have sent back {orders}. In {days} days it should all be with you. Keep this open until then, please, "
            "and pay what is due for the parcels that are there."
        ),
    )
    return desk.word_request(
        "returns-under-way", subject="My returns are under way", bodies=bodies, orders=orders, days=str(days)
    )


def search_under_way(desk: Desk, orders: str, days: int) -> Letter:
    """A wish to have overdue parcels made up for, once the carrier has looked for them."""
    bodies = (
        (
            f"Nothing of {orders} has come. The carrier looks for the parcels and will know in {days} days. Please "
            "keep my ticket open until then; send again or pay back whatever is lost by then."
        ),
        (
            f"I miss {orders}. In {days} days the carrier will have finished its search. Wait for that, please, and "
            "make up for whatever counts as lost by then."
        ),
    )
    return desk.word_request(
        "search-under-way", subject="The carrier is searching", bodies=bodies, orders=orders, days=str(days)
    )


def goods_to_come(desk: Desk, orders: str, days: int) -> Letter:
    """A wish for new pieces in place of repairs, once goods have come in, and for what the wait earns."""
    bodies = (
        (
            f"You are to repair what I bought with {orders}, and your shop says that new pieces come in within {days} "
            "days. Keep my ticket open until then. I would like a new piece wherever there is one by then, and "
            "whatever is due to me by then because a repair takes so long."
        ),
        (
            f"My repairs of {orders} drag on. New goods reach you in {days} days, as I read. Please wait so long, give "
            "me new pieces in place of the repairs where you have them then, and what a slow repair earns by then."
        ),
    )
    return desk.word_request(
        "goods-to-come", subject="New pieces for my repairs", bodies=bodies, orders=orders, days=str(days)
    )


def word_to_come(desk: Desk, orders: str, days: int) -> Letter:
    """A wish to send goods back of which somebody else will say whether they were opened."""
    bodies = (
        (
            f"I do not need what I bought with {orders} and want to send all of it back. My brother has it; in {days} "
            "days he tells you what of it was opened. Please wait for that with my ticket open, then let me return it."
        ),
        (
            f"All of {orders} is to go back to you; I have changed my mind. Whether it was opened, my brother will "
            f"tell you in {days} days. Leave this ticket open until then, please, and then arrange the returns."
        ),
    )
    return desk.word_request(
        "word-to-come", subject="Returns, once my brother has looked", bodies=bodies, orders=orders, days=str(days)
    )
