"""What customers write. Families share these requests, so that the words do not tell which policy decides.

The same request to cancel is granted, too late, on hold, or not the customer's to make; only the records tell.
"""

from dataclasses import dataclass

from palaestra.envs.worlds.storefront.schema import Category, Fault, Order, Product
from palaestra.seeding import Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomerRequest:
    """A customer's message."""

    subject: str
    body: str


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


def fault_of(stream: Stream, product: Product) -> Fault:
    """A fault that such a product can have."""
    return stream.choice([f for f, (_, categories) in _SYMPTOMS.items() if product.category in categories])


_STREETS = ("Lindenweg 4", "Rue Verte 18", "Harbour Lane 7", "Via Nuova 31", "Kerkstraat 55", "Calle Mayor 12")
_CITIES = ("Graz", "Lyon", "Cork", "Bologna", "Leiden", "Sevilla")


def redirect(stream: Stream, order: Order) -> tuple[CustomerRequest, tuple[str, str]]:
    """A wish to have an order sent elsewhere, and the street and city where."""
    street, city = stream.choice(_STREETS), stream.choice(_CITIES)
    bodies = (
        f"I will be at work when it comes. Please send {order.id} to my office, {street} in {city}.",
        f"Please deliver {order.id} to a friend of mine instead: {street}, {city}.",
    )
    return CustomerRequest(subject="Other delivery address", body=stream.choice(bodies)), (street, city)


def new_home(stream: Stream) -> tuple[CustomerRequest, tuple[str, str]]:
    """A wish to have everything that is still to come sent elsewhere, and the street and city where."""
    street, city = stream.choice(_STREETS), stream.choice(_CITIES)
    bodies = (
        f"I have moved. Please send everything that I have ordered and not yet received to {street} in {city}.",
        f"Whatever is still to come from my orders, please deliver it to our new flat: {street}, {city}.",
    )
    return CustomerRequest(subject="New address for my orders", body=stream.choice(bodies)), (street, city)


def cancel(stream: Stream, order: Order) -> CustomerRequest:
    """A wish to cancel an order."""
    bodies = (
        f"I found it elsewhere. Please cancel {order.id} before you send it.",
        f"Order {order.id} was a mistake of mine. I would like to cancel all of it.",
        f"Please stop {order.id}; I no longer need what I ordered.",
    )
    return CustomerRequest(subject="Please cancel my order", body=stream.choice(bodies))


def cancel_for(stream: Stream, order: Order, owner: str) -> CustomerRequest:
    """A wish to cancel an order that somebody else placed; half of them do not say so."""
    bodies = (
        cancel(stream, order).body,
        f"{order.id} is for {owner}, who asked me to write: please cancel it.",
    )
    return CustomerRequest(subject="Please cancel my order", body=stream.choice(bodies))


def send_back(stream: Stream, order: Order, product: Product) -> CustomerRequest:
    """A change of mind about a product."""
    bodies = (
        f"I do not need the {product.name} from {order.id} after all. May I send it back?",
        f"The {product.name} from {order.id} is not what I was looking for. I would like to return it.",
        f"I changed my mind about the {product.name} that came with {order.id}. How do I return it?",
    )
    return CustomerRequest(subject="Return", body=stream.choice(bodies))


def damaged(stream: Stream, order: Order, product: Product) -> CustomerRequest:
    """A product arrived broken."""
    bodies = (
        f"The {product.name} from {order.id} arrived damaged. I want my money back for it.",
        f"I opened the parcel of {order.id}, and the {product.name} was damaged. Please refund me.",
    )
    return CustomerRequest(subject="Arrived damaged", body=stream.choice(bodies))


def faulty(stream: Stream, order: Order, product: Product, fault: Fault) -> CustomerRequest:
    """A product does not work."""
    bodies = (
        f"The {product.name} from {order.id} {_SYMPTOMS[fault][0]}. I would like my money back.",
        f"I have a problem with the {product.name} from {order.id}: it {_SYMPTOMS[fault][0]}. Please refund me.",
    )
    return CustomerRequest(subject="It does not work", body=stream.choice(bodies))


def cheaper(stream: Stream, order: Order, product: Product) -> CustomerRequest:
    """A product costs less elsewhere."""
    bodies = (
        f"I bought {product.name} in {order.id}, and now I see it for less elsewhere. Do you match that?",
        f"Another shop sells the {product.name} cheaper than you did in {order.id}. I would like the difference.",
    )
    return CustomerRequest(subject="Cheaper elsewhere", body=stream.choice(bodies))


def overdue(stream: Stream, order: Order) -> CustomerRequest:
    """A parcel has not come."""
    bodies = (
        f"{order.id} should have been here by now. Send it again, or give me my money back.",
        f"I am still waiting for {order.id}. I think that it is lost; please replace it or refund me.",
    )
    return CustomerRequest(subject="My parcel never came", body=stream.choice(bodies))


def another_in_the_box(stream: Stream, order: Order, product: Product, *, wrong: int, of: int) -> CustomerRequest:
    """Pieces of a line are something else than was ordered."""
    which = f"the {product.name}" if of == 1 else f"{wrong} of the {of} {product.name}"
    bodies = (
        f"I unpacked {order.id}, and in place of {which} there was something else. Please put that right.",
        f"You sent me something else for {which} in {order.id}. I want what I paid for, or my money.",
    )
    return CustomerRequest(subject="Not what I ordered", body=stream.choice(bodies))


def keep_it(stream: Stream, order: Order, product: Product) -> CustomerRequest:
    """A wish to keep goods that were to be sent back."""
    bodies = (
        f"I wanted to return the {product.name} from {order.id}. I would like to keep it after all.",
        f"Please forget about my return of the {product.name} ({order.id}): I have decided to keep it.",
    )
    return CustomerRequest(subject="I would like to keep it", body=stream.choice(bodies))


def money_for_return(stream: Stream, order: Order, product: Product) -> CustomerRequest:
    """A question for the money for goods that were sent back."""
    bodies = (
        f"I sent you back the {product.name} from {order.id}. I would like to have my money now.",
        f"Where is my money for the {product.name} that I returned from {order.id}? Please pay it out.",
    )
    return CustomerRequest(subject="The money for my return", body=stream.choice(bodies))


def new_one(stream: Stream, order: Order, product: Product) -> CustomerRequest:
    """A wish for a new piece in place of a repair."""
    bodies = (
        f"You are to repair my {product.name} from {order.id}. I would rather have a new one.",
        f"I do not want to wait for the repair of the {product.name} ({order.id}). Please send me a new one for it.",
    )
    return CustomerRequest(subject="A new one, please", body=stream.choice(bodies))


def slow_repair(stream: Stream, order: Order, product: Product) -> CustomerRequest:
    """A wish for compensation, because a warranty claim takes so long."""
    bodies = (
        f"My claim for the {product.name} from {order.id} is taking for ever. Do I get something for the wait?",
        f"I have been waiting for you to deal with my {product.name} ({order.id}). Is there any compensation?",
    )
    return CustomerRequest(subject="I am still waiting", body=stream.choice(bodies))


def other_card(stream: Stream, build_id: str, product: Product) -> CustomerRequest:
    """A wish to have another graphics card in a build."""
    bodies = (
        f"Please put the {product.name} into my build {build_id}, in place of the graphics card that is in it.",
        f"I would like the {product.name} as the graphics card of {build_id}. Please change that and nothing else.",
    )
    return CustomerRequest(subject="Another graphics card", body=stream.choice(bodies))


def too_little(stream: Stream, order: Order, product: Product) -> CustomerRequest:
    """A doubt about the amount of a refund."""
    bodies = (
        f"Your refund for the {product.name} from {order.id} is less than what I paid. Please pay the rest.",
        f"I got some money back for the {product.name} ({order.id}), but not all of it. Where is the rest?",
    )
    return CustomerRequest(subject="My refund is too small", body=stream.choice(bodies))
