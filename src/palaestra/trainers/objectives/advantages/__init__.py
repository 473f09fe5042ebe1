"""Advantages: how much better than expected the outcome was."""

from palaestra.trainers.objectives.advantages.agents import DrMas
from palaestra.trainers.objectives.advantages.attribution import Adca, attributed_advantages, shares
from palaestra.trainers.objectives.advantages.baselines import (
    Gpg,
    PassAtK,
    gpg_factor,
    leads,
    leave_one_out,
    maxrl,
    opo,
    remax,
    rloo,
)
from palaestra.trainers.objectives.advantages.bilevel import BiLevelGae
from palaestra.trainers.objectives.advantages.blocks import BlockwiseAdvantage, block_advantages
from palaestra.trainers.objectives.advantages.checklist import Cm2, checklist_advantages, first_satisfaction
from palaestra.trainers.objectives.advantages.components import Gdpo
from palaestra.trainers.objectives.advantages.critic import Estimates, Gae, ValueAdvantage, Vapo, gae, gae_estimates
from palaestra.trainers.objectives.advantages.gigpo import Gigpo, gigpo_advantages
from palaestra.trainers.objectives.advantages.gradient_baseline import Opob, OpobProxy, off_optimal_baseline
from palaestra.trainers.objectives.advantages.group import GroupAdvantage, group_advantages
from palaestra.trainers.objectives.advantages.hiper import Hiper, Streams, hiper_streams
from palaestra.trainers.objectives.advantages.history import History
from palaestra.trainers.objectives.advantages.information import (
    Igpo,
    Mig,
    likelihood_gains,
    monotone_gains,
    turn_advantages,
)
from palaestra.trainers.objectives.advantages.mtgrpo import MtGrpo, mtgrpo_advantages
from palaestra.trainers.objectives.advantages.planning import shaped_rewards
from palaestra.trainers.objectives.advantages.potential import Potential, potential_differences
from palaestra.trainers.objectives.advantages.promise import (
    AgentPrm,
    action_numbers,
    monte_carlo_targets,
    state_values,
    td_targets,
)
from palaestra.trainers.objectives.advantages.shapley import (
    Sharp,
    leave_one_out_values,
    role_advantages,
    shapley_values,
)
from palaestra.trainers.objectives.advantages.token_baseline import Otb, token_baseline
from palaestra.trainers.objectives.advantages.vtrace import VTrace, VTraceValues, vtrace
from palaestra.trainers.objectives.advantages.whitened import (
    ReinforcePlus,
    ReinforcePlusKl,
    reinforce_plus_baseline,
    returns_to_go,
    whiten,
)
from palaestra.trainers.objectives.advantages.written import token_rewards

__all__ = [
    "Adca",
    "AgentPrm",
    "BiLevelGae",
    "BlockwiseAdvantage",
    "Cm2",
    "DrMas",
    "Estimates",
    "Gae",
    "Gdpo",
    "Gigpo",
    "Gpg",
    "GroupAdvantage",
    "Hiper",
    "History",
    "Igpo",
    "Mig",
    "MtGrpo",
    "Opob",
    "OpobProxy",
    "Otb",
    "PassAtK",
    "Potential",
    "ReinforcePlus",
    "ReinforcePlusKl",
    "Sharp",
    "Streams",
    "VTrace",
    "VTraceValues",
    "ValueAdvantage",
    "Vapo",
    "action_numbers",
    "attributed_advantages",
    "block_advantages",
    "checklist_advantages",
    "first_satisfaction",
    "gae",
    "gae_estimates",
    "gigpo_advantages",
    "gpg_factor",
    "group_advantages",
    "hiper_streams",
    "leads",
    "leave_one_out",
    "leave_one_out_values",
    "likelihood_gains",
    "maxrl",
    "monotone_gains",
    "monte_carlo_targets",
    "mtgrpo_advantages",
    "off_optimal_baseline",
    "opo",
    "potential_differences",
    "reinforce_plus_baseline",
    "remax",
    "returns_to_go",
    "rloo",
    "role_advantages",
    "shaped_rewards",
    "shapley_values",
    "shares",
    "state_values",
    "td_targets",
    "token_baseline",
    "token_rewards",
    "turn_advantages",
    "vtrace",
    "whiten",
]
