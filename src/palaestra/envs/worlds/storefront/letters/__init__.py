"""What held-out requests are composed of, by kind; `palaestra.envs.kit.letters` composes them."""

from collections.abc import Mapping

from palaestra.envs.kit.letters import LetterKind
from palaestra.envs.worlds.storefront.letters import builds, goods, later, money, orders
from palaestra.envs.worlds.storefront.letters.goods import SYMPTOMS

__all__ = ["LETTERS", "SYMPTOMS"]

LETTERS: Mapping[str, LetterKind] = {
    "broken": goods.BROKEN,
    "both-damaged": goods.BOTH_DAMAGED,
    "cancel": orders.CANCEL,
    "cancel-again": orders.CANCEL_AGAIN,
    "cancel-for": orders.CANCEL_FOR,
    "cancel-unnamed": orders.CANCEL_UNNAMED,
    "charged-twice": money.CHARGED_TWICE,
    "charged-twice-unnamed": money.CHARGED_TWICE_UNNAMED,
    "cheaper": money.CHEAPER,
    "cheaper-order": money.CHEAPER_ORDER,
    "damaged": goods.DAMAGED,
    "delayed": money.DELAYED,
    "faulty": goods.FAULTY,
    "finish-build": builds.FINISH_BUILD,
    "fix-build": builds.FIX_BUILD,
    "goods-to-come": later.GOODS_TO_COME,
    "keep": goods.KEEP,
    "late-parcels": money.LATE_PARCELS,
    "missed-code": money.MISSED_CODE,
    "money-for-return": money.MONEY_FOR_RETURN,
    "net-paid": money.NET_PAID,
    "new-home": orders.NEW_HOME,
    "new-one": goods.NEW_ONE,
    "one-faulty": goods.ONE_FAULTY,
    "other-card": builds.OTHER_CARD,
    "overdue": orders.OVERDUE,
    "recall": goods.RECALL,
    "redirect": orders.REDIRECT,
    "redirect-unnamed": orders.REDIRECT_UNNAMED,
    "returns-under-way": later.RETURNS_UNDER_WAY,
    "search-under-way": later.SEARCH_UNDER_WAY,
    "send-back": goods.SEND_BACK,
    "slow-repair": money.SLOW_REPAIR,
    "something-damaged": goods.SOMETHING_DAMAGED,
    "status": orders.STATUS,
    "store-credit": money.STORE_CREDIT,
    "too-little": money.TOO_LITTLE,
    "waiting-refund": money.WAITING_REFUND,
    "warranty-end": goods.WARRANTY_END,
    "word-to-come": later.WORD_TO_COME,
    "wrong-goods": goods.WRONG_GOODS,
}
"""Every kind of request that a family words."""
