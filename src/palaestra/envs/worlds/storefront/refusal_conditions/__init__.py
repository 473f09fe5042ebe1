"""Changes to a world after which a request must be refused, each with its refusal condition.

Each is what might as well have happened: the parcel left this morning, the goods came a day too long ago, a colleague
has dealt with it. What follows from it is changed with it, so that the world's records still agree.
"""

from palaestra.envs.worlds.storefront.refusal_conditions.accounts import on_hold, written_from_elsewhere
from palaestra.envs.worlds.storefront.refusal_conditions.builds import (
    anothers_build,
    card_sold_out,
    parts_sold_out,
    rest_changed,
)
from palaestra.envs.worlds.storefront.refusal_conditions.goods import (
    arrived_too_long_ago,
    coming_back_already,
    final_sale,
    not_received,
    received_already,
)
from palaestra.envs.worlds.storefront.refusal_conditions.money import (
    charge_went_back,
    charged_once,
    loss_paid_already,
    nobody_to_approve,
    paid_back_already,
    refund_was_right,
    rest_paid_already,
    return_paid_already,
    waiting_for_approval,
)
from palaestra.envs.worlds.storefront.refusal_conditions.parcels import (
    cancelled_already,
    left_already,
    not_yet_lost,
    scanned_lately,
    sent_again_already,
    within_grace,
)
from palaestra.envs.worlds.storefront.refusal_conditions.prices import (
    credited_already,
    ordered_too_long_ago,
    sold_out_elsewhere,
)
from palaestra.envs.worlds.storefront.refusal_conditions.repairs import (
    claim_is_young,
    claimed_already,
    mended_already,
    sold_out,
)

__all__ = [
    "anothers_build",
    "arrived_too_long_ago",
    "cancelled_already",
    "card_sold_out",
    "charge_went_back",
    "charged_once",
    "claim_is_young",
    "claimed_already",
    "coming_back_already",
    "credited_already",
    "final_sale",
    "left_already",
    "loss_paid_already",
    "mended_already",
    "nobody_to_approve",
    "not_received",
    "not_yet_lost",
    "on_hold",
    "ordered_too_long_ago",
    "paid_back_already",
    "parts_sold_out",
    "received_already",
    "refund_was_right",
    "rest_changed",
    "rest_paid_already",
    "return_paid_already",
    "scanned_lately",
    "sent_again_already",
    "sold_out",
    "sold_out_elsewhere",
    "waiting_for_approval",
    "within_grace",
    "written_from_elsewhere",
]
