"""The situations that a world holds, as one table: how many orders of each kind each tier gets."""

from dataclasses import dataclass
from typing import Literal

from palaestra.envs.worlds.storefront.population import courses
from palaestra.envs.worlds.storefront.population.baskets import Wish
from palaestra.envs.worlds.storefront.population.courses import CourseDraw
from palaestra.envs.worlds.storefront.population.plan import Aftermath

PLAIN = Wish()
"""Anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One kind of order, and how many of it customers of each tier get."""

    counts: tuple[int, int, int, int]
    """For bronze, silver, gold and platinum."""
    course: CourseDraw
    wish: Wish = PLAIN
    code: Literal["none", "chance", "wanted"] = "chance"
    """Whether a promotion code that applies is used."""
    over: Literal["nothing", "agent_limit", "supervisor_limit"] = "nothing"
    """The approval limit that the lead line is above."""
    charges: int = 1
    aftermath: Aftermath = "none"
    held: bool = False
    """Whether it is for customers under a fraud hold, and for nobody else."""


_LISTED = Wish(lead="matched", at_list=True)
_STOCKED = Wish(lead="in_stock", rest="in_stock")
_KEPT = Wish(rest="regular", lead="regular")

SCENES: dict[str, Scene] = {
    "opened": Scene(counts=(6, 6, 4, 14), course=courses.in_window, wish=Wish(lead="regular", opened=100)),
    "sealed": Scene(counts=(5, 4, 3, 3), course=courses.in_window, wish=Wish(lead="regular", opened=0)),
    "final sale": Scene(counts=(5, 4, 4, 3), course=courses.in_window, wish=Wish(lead="final_sale")),
    "discounted": Scene(
        counts=(4, 5, 5, 4), course=courses.in_window, wish=Wish(lead="regular", pieces=2), code="wanted"
    ),
    "over agent": Scene(counts=(0, 5, 6, 5), course=courses.in_window, wish=_KEPT, code="none", over="agent_limit"),
    "over supervisor": Scene(
        counts=(0, 0, 3, 6), course=courses.in_window, wish=_KEPT, code="none", over="supervisor_limit"
    ),
    "late arrival": Scene(counts=(4, 4, 4, 3), course=courses.late_arrival),
    "duplicate": Scene(counts=(3, 3, 2, 2), course=courses.in_window, charges=2),
    "held": Scene(counts=(4, 3, 2, 2), course=courses.in_window, held=True),
    "extended": Scene(counts=(0, 0, 13, 13), course=courses.extended_window, wish=Wish(lead="regular")),
    "just expired": Scene(counts=(5, 4, 3, 2), course=courses.just_expired, wish=_KEPT),
    "matched": Scene(counts=(4, 5, 4, 3), course=courses.just_matched, wish=_LISTED, code="none"),
    "forgotten code": Scene(counts=(4, 4, 3, 2), course=courses.just_ordered, code="none"),
    "processing": Scene(counts=(5, 5, 3, 3), course=courses.processing),
    "lost, in stock": Scene(counts=(3, 3, 2, 2), course=courses.lost_parcel, wish=_STOCKED),
    "lost, sold out": Scene(counts=(6, 3, 1, 1), course=courses.lost_parcel, wish=Wish(lead="sold_out")),
    "late in transit": Scene(counts=(3, 2, 2, 1), course=courses.late_in_transit),
    "on the way": Scene(counts=(4, 3, 2, 1), course=courses.on_the_way),
    "cancelled": Scene(counts=(4, 3, 2, 1), course=courses.cancelled_order),
    "returning": Scene(counts=(2, 2, 1, 1), course=courses.in_window, wish=_KEPT, aftermath="returning"),
    "refunded": Scene(counts=(9, 9, 5, 3), course=courses.expired_window, aftermath="refunded"),
    "sent back": Scene(counts=(8, 8, 5, 4), course=courses.expired_window, wish=_KEPT, aftermath="sent_back"),
    "called off": Scene(counts=(3, 2, 1, 1), course=courses.expired_window, wish=_KEPT, aftermath="called_off"),
    "lost, refunded": Scene(counts=(2, 1, 1, 0), course=courses.recorded_loss, aftermath="lost_refunded"),
    "rebooked": Scene(counts=(2, 1, 1, 0), course=courses.expired_window, charges=2, aftermath="rebooked"),
    "long past": Scene(counts=(8, 4, 2, 1), course=courses.ancient),
    "replaced": Scene(counts=(1, 1, 1, 0), course=courses.replaced_parcel),
}
"""By name; "held" comes with customers of its own."""

PAST = Scene(counts=(0, 0, 0, 0), course=courses.expired_window)
"""An order of the months that earn a tier; planning adds as many as spending asks for."""
