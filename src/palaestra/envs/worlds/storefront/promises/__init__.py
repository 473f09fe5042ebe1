"""What messages of the Storefront can promise or report as done, and the rows that bear it out."""

from palaestra.envs.worlds.storefront.promises.goods import (
    BUILD,
    CLAIM,
    CLAIM_OPEN,
    CLAIM_OVER,
    ORDERED,
    REPAIR,
    REPAIRED,
    RETURN,
    SENDING_BACK,
    SENT_AGAIN,
    WINDOW,
)
from palaestra.envs.worlds.storefront.promises.handing_on import HANDING_ON
from palaestra.envs.worlds.storefront.promises.money import (
    APPROVAL,
    CREDIT,
    FEE,
    FEE_KEPT,
    NEW_PAYMENT,
    PAID,
    PAID_SOON,
    PAYMENT,
    REFUND,
    RESTOCKING_FEE,
)
from palaestra.envs.worlds.storefront.promises.orders import (
    CANCELLATION,
    CHARGED,
    DESTINATION,
    ORDER_CANCELLATION,
    REDIRECTION,
    STILL_HERE,
)
from palaestra.envs.worlds.storefront.promises.parcels import ARRIVAL, BOXES, LEFT, LOSS, UNDER_WAY

PROMISES = (
    PAYMENT, PAID, REFUND, CREDIT, APPROVAL, CANCELLATION, ORDER_CANCELLATION, REDIRECTION, DESTINATION, STILL_HERE,
    UNDER_WAY, ARRIVAL, LOSS, SENT_AGAIN, BUILD, REPAIR, REPAIRED, CLAIM, RETURN, SENDING_BACK, WINDOW, FEE,
    RESTOCKING_FEE, FEE_KEPT, HANDING_ON, NEW_PAYMENT, PAID_SOON, CHARGED, ORDERED, CLAIM_OPEN, CLAIM_OVER, LEFT, BOXES,
)  # fmt: skip
