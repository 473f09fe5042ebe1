"""A script that recognises requests by patterns and applies the numbers of the usual handbook by heart.

It was written after a look at one instance of each family of `train`: subjects and words that occur there tell it what
is asked, and the answers of look-ups give it the ids. It opens handbook sections without reading what they say. In a
dialogue it says nothing but that the work is done.
"""

import re
from collections.abc import Callable

from palaestra.envs.attack import WorldScript
from palaestra.envs.instance import Instance
from palaestra.envs.worlds.storefront.attacks.script import builds, goods, money, parcels
from palaestra.envs.worlds.storefront.attacks.script.terminal import CaseClosedError, Script, Terminal

_WORK: tuple[tuple[str, Callable[[Terminal], Script]], ...] = (
    (r"Please cancel my order", parcels.cancel),
    (r"Other delivery address", parcels.redirect),
    (r"New address for my orders", parcels.redirect_all),
    (r"My parcel never came", parcels.make_up_for_loss),
    (r"Where is my parcel", parcels.tell_status),
    (r"again and again", parcels.credit_late_parcels),
    (r"Recall of", parcels.recall),
    (r"Return$", goods.send_back),
    (r"[Aa]rrived damaged|It does not work|Not what I ordered", goods.put_right),
    (r"I would like to keep it", goods.keep_goods),
    (r"A new one, please", goods.renew_claim),
    (r"I am still waiting", goods.pay_for_wait),
    (r"My warranty", goods.tell_warranty_end),
    (r"Cheaper elsewhere", money.match_price),
    (r"Charged twice", money.undo_charge),
    (r"The same amount twice", money.find_charge),
    (r"My refund is too small", money.pay_rest),
    (r"The money for my return", money.pay_for_return),
    (r"Where is my refund", money.ask_stand_in),
    (r"My store credit", money.tell_credit),
    (r"For my tax return", money.sum_payments),
    (r"Another graphics card", builds.swap_card),
    (r"My build", builds.mend),
)
"""What to do, by a pattern of the subject."""


def play_script(instance: Instance) -> WorldScript:
    """Recognise the request and do what the usual rules say; end without a word where it is none that is known."""
    desk = Terminal(instance)
    work = next((work for pattern, work in _WORK if re.search(pattern, desk.subject)), None)
    try:
        if desk.known and work is not None:
            yield from work(desk)
        yield from desk.end()
    except (CaseClosedError, IndexError, KeyError, TypeError, ValueError):
        return  # the case is closed, or an answer lacks what the script expects of it
