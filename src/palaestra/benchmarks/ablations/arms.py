"""The arms that differ in one part of the demo's recipe, and all arms and tables by name."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from palaestra.benchmarks.ablations.arm import AblationArm, AblationConfig, AblationTable, Stages, train_nothing
from palaestra.benchmarks.ablations.flow_arms import FLOW_ARMS, FLOW_TABLE
from palaestra.benchmarks.ablations.method_arms import method_arms, method_tables
from palaestra.benchmarks.ablations.stale_arms import STALE_ARMS, STALE_TABLE
from palaestra.trainers import ChoiceConfig, ObjectiveConfig
from palaestra.trainers.choice import ChoiceRule
from palaestra.trainers.objectives.recipe import Spec


def _more_steps(config: AblationConfig) -> Stages:
    return {"sft": replace(config.sft, cpu_seconds=config.cpu_seconds)}


def _expert(config: AblationConfig) -> Stages:
    return {"expert": replace(config.expert, cpu_seconds=config.cpu_seconds)}


def _without_branching(config: AblationConfig) -> Stages:
    return {"expert": replace(config.expert, cpu_seconds=config.cpu_seconds, branching=None)}


def _choose_by(rule: ChoiceRule) -> Callable[[AblationConfig], Stages]:
    def stages(config: AblationConfig) -> Stages:
        choice = ChoiceConfig(rule=rule, instances=config.expert.choice.instances)
        return {"expert": replace(config.expert, cpu_seconds=config.cpu_seconds, choice=choice)}

    return stages


def _gradient(config: AblationConfig) -> Stages:
    return {"grpo": replace(config.grpo, cpu_seconds=config.cpu_seconds)}


def _gradient_on_points(config: AblationConfig) -> Stages:
    return {"grpo": replace(config.grpo, cpu_seconds=config.cpu_seconds, objective=ObjectiveConfig())}


def _gradient_by_turns(config: AblationConfig) -> Stages:
    return {"grpo": replace(config.grpo, cpu_seconds=config.cpu_seconds, objective=ObjectiveConfig(preset="blockwise"))}


def _gradient_paid_by(*rewards: Spec) -> Callable[[AblationConfig], Stages]:
    def stages(config: AblationConfig) -> Stages:
        objective = ObjectiveConfig(parts={"rewards": list(rewards)})
        return {"grpo": replace(config.grpo, cpu_seconds=config.cpu_seconds, objective=objective)}

    return stages


def _both(config: AblationConfig) -> Stages:
    return {
        "expert": replace(config.expert, cpu_seconds=0.8 * config.cpu_seconds),
        "grpo": replace(config.grpo, cpu_seconds=0.2 * config.cpu_seconds),
    }


ARMS: Mapping[str, AblationArm] = MappingProxyType(
    {
        "warm-start": AblationArm(what="warm start alone", stages=train_nothing),
        "expert": AblationArm(what="expert iteration, branching, bandit, compact", stages=_expert),
        "warm-start-opaque": AblationArm(
            what="warm start alone, former rendering", stages=train_nothing, format="opaque"
        ),
        "expert-opaque": AblationArm(what="expert iteration, former rendering", stages=_expert, format="opaque"),
        "more-steps": AblationArm(what="further supervised steps", stages=_more_steps),
        "gradient": AblationArm(what="policy gradient, paid for solved tasks", stages=_gradient),
        "both": AblationArm(what="expert iteration for 80 % of the time, then policy gradient", stages=_both),
        "no-branching": AblationArm(what="expert iteration without branching", stages=_without_branching),
        "uniform": AblationArm(what="expert iteration, uniform choice of families", stages=_choose_by("uniform")),
        "goldilocks": AblationArm(what="expert iteration, Goldilocks", stages=_choose_by("goldilocks")),
        "paced": AblationArm(what="expert iteration, PACED", stages=_choose_by("paced")),
        "gradient-points": AblationArm(what="policy gradient, paid by the checklist", stages=_gradient_on_points),
        "gradient-flipped": AblationArm(
            what="policy gradient, paid by the checklist with 21 % of its verdicts flipped",
            stages=_gradient_paid_by({"part": "flipped", "share": 0.21}),
        ),
        "gradient-former-price": AblationArm(
            what="policy gradient, paid by the former price of acting", stages=_gradient_paid_by("ungraded")
        ),
        "gradient-less-harm": AblationArm(
            what="policy gradient, paid by the checklist with harm at a fifth and unfinished work at most 0",
            stages=_gradient_paid_by({"part": "harm-scale", "factor": 0.2}, {"part": "unfinished", "most": 0.0}),
        ),
        "gradient-blockwise": AblationArm(
            what="policy gradient, paid by the checklist, each turn its own reward (Blockwise)",
            stages=_gradient_by_turns,
        ),
        **STALE_ARMS,
        **FLOW_ARMS,
        **method_arms("long"),
        **method_arms("alfworld"),
    }
)
"""All arms by name. An arm in several tables is trained once per seed."""

TABLES: Mapping[str, AblationTable] = MappingProxyType(
    {
        "rendering": AblationTable(
            question="Does the rendering matter?",
            arms=("warm-start-opaque", "warm-start", "expert-opaque", "expert"),
            against="expert-opaque",
            over="expert-opaque",
        ),
        "stages": AblationTable(
            question="Which stage teaches?",
            arms=("warm-start", "more-steps", "gradient", "expert", "both"),
            against="more-steps",
            over="more-steps",
        ),
        "branching": AblationTable(
            question="Is branching worth its time?",
            arms=("no-branching", "expert"),
            against="no-branching",
            over="no-branching",
        ),
        "choosers": AblationTable(
            question="Which choice of tasks teaches most?",
            arms=("uniform", "expert", "goldilocks", "paced"),
            against="uniform",
            over="uniform",
        ),
        "reward": AblationTable(
            question="Does a better reward teach more, and more that transfers?",
            arms=(
                "warm-start",
                "gradient",
                "gradient-points",
                "gradient-flipped",
                "gradient-former-price",
                "gradient-less-harm",
                "gradient-blockwise",
            ),
            against="gradient",
            over="gradient",
        ),
        **method_tables("long"),
        **method_tables("alfworld"),
        "staleness": STALE_TABLE,
        "flows": FLOW_TABLE,
    }
)
"""All tables by name, in the order in which their cells run."""
