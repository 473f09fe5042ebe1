"""Parts that change rewards before anything is compared: length, tools, distance to a reference, other rewards.

Changes for a whole trajectory go to its last turn; a trajectory without a turn gets none.
"""

from palaestra.trainers.objectives.rewards.flipped import FlippedVerdicts
from palaestra.trainers.objectives.rewards.kl import KlInReward
from palaestra.trainers.objectives.rewards.laconic import Laconic
from palaestra.trainers.objectives.rewards.last import pay_at_end
from palaestra.trainers.objectives.rewards.overlong import SoftOverlong, overlong_penalty
from palaestra.trainers.objectives.rewards.pay import PayBounded, PayHarmScale, PaySolved, PayUnfinished
from palaestra.trainers.objectives.rewards.tools import ToolBonus
from palaestra.trainers.objectives.rewards.ungraded import PayUngraded
from palaestra.trainers.objectives.rewards.unit import RewardUnit

__all__ = [
    "FlippedVerdicts",
    "KlInReward",
    "Laconic",
    "PayBounded",
    "PayHarmScale",
    "PaySolved",
    "PayUnfinished",
    "PayUngraded",
    "RewardUnit",
    "SoftOverlong",
    "ToolBonus",
    "overlong_penalty",
    "pay_at_end",
]
