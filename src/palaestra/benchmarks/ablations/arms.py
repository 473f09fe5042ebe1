"""The arms, the tables that compare them, and their budgets.

Every arm goes on from a policy of its seed that it shares with others: a warm start of its site and format, or what
another arm trained. The arms of a table have equal processor time on one thread, or take equally many steps. What an
arm does not name is as in `palaestra.benchmarks.learning`: the demo's settings.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from palaestra.benchmarks.ablations.sites import SITES
from palaestra.benchmarks.learning import LearningConfig
from palaestra.trainers import (
    ChoiceConfig,
    ExpertConfig,
    GrpoConfig,
    LearnerConfig,
    ModelConfig,
    ObjectiveConfig,
    PlayConfig,
    SftConfig,
)
from palaestra.trainers.choice import ChoiceRule
from palaestra.trainers.loops.config import StageConfig
from palaestra.trainers.loops.saves import SaveConfig
from palaestra.trainers.objectives.recipe import Spec
from palaestra.trainers.rollouts.staleness import Staleness


@dataclass(frozen=True, slots=True, kw_only=True)
class AblationConfig:
    """What all arms have in common."""

    model: ModelConfig = field(default_factory=ModelConfig)
    demonstrations: int = 20
    """Of each family."""
    sft: SftConfig = field(default_factory=lambda: LearningConfig().sft)
    """The warm start."""
    expert: ExpertConfig = field(default_factory=lambda: LearningConfig().expert)
    grpo: GrpoConfig = field(default_factory=lambda: LearningConfig().grpo)
    cpu_seconds: float = 300.0
    """Processor time of training after the warm start, on one thread."""
    samples: int = 3
    """Episodes of each held-out task at each temperature."""
    temperatures: tuple[float, ...] = (1.0, 0.3)


Stages: TypeAlias = Mapping[str, StageConfig]


@dataclass(frozen=True, slots=True, kw_only=True)
class AblationArm:
    """One way to go on from a policy."""

    what: str
    """In words, for a table's row."""
    stages: Callable[[AblationConfig], Stages]
    """The stages after the start."""
    site: str = "demo"
    """Where it is trained and measured: a name of `SITES`."""
    format: str | None = None
    """The chat format of the policy, and of its warm start, where it is not the site's."""
    start: str | None = None
    """The arm whose trained policy it goes on from; `None` for the warm start of its site and format."""

    @property
    def chat_format(self) -> str:
        """The format of its policy."""
        return self.format or SITES[self.site].format

    def warm_start(self, config: AblationConfig) -> SftConfig:
        """The supervised steps that come before all else."""
        return replace(config.sft, steps=SITES[self.site].steps or config.sft.steps)

    def play(self, config: AblationConfig) -> PlayConfig:
        """The limits of its episodes."""
        return SITES[self.site].play or config.expert.play


def _describe_equal_time(config: AblationConfig) -> str:
    return (
        f"Every arm but a warm start trains for {config.cpu_seconds:g} s of processor time on one thread after a warm "
        f"start of {config.sft.steps} steps."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AblationTable:
    """A question, and the arms that answer it."""

    question: str
    arms: tuple[str, ...]
    against: str | Mapping[str, str]
    """The arm that differences are taken from; or, by arm, the one that its difference is taken from."""
    over: str
    """What a table's columns call that arm, or those arms."""
    budget: Callable[[AblationConfig], str] = _describe_equal_time
    """What arms have in common, in a sentence."""
    seeds: int = 3
    """Training runs of each arm, unless more or fewer are asked for."""

    @property
    def site(self) -> str:
        """Where its arms are trained and measured."""
        (site,) = {ARMS[arm].site for arm in self.arms}
        return site

    def reference(self, arm: str) -> str | None:
        """The arm that the difference of `arm` is taken from; `None` where it has none."""
        if isinstance(self.against, Mapping):
            return self.against.get(arm)
        return self.against if arm != self.against else None


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


def _gradient_paid_by(reward: Spec) -> Callable[[AblationConfig], Stages]:
    def stages(config: AblationConfig) -> Stages:
        objective = ObjectiveConfig(parts={"rewards": [reward]})
        return {"grpo": replace(config.grpo, cpu_seconds=config.cpu_seconds, objective=objective)}

    return stages


def _both(config: AblationConfig) -> Stages:
    return {
        "expert": replace(config.expert, cpu_seconds=0.8 * config.cpu_seconds),
        "grpo": replace(config.grpo, cpu_seconds=0.2 * config.cpu_seconds),
    }


def _nothing(_: AblationConfig) -> Stages:
    return {}


STALENESS = (1, 4, 16, 64)
"""How many versions older than the trained weights those are that drew the rollouts."""
_OBJECTIVES: Mapping[str, tuple[str, str]] = {
    "grpo": ("grpo", "GRPO"),
    "sapo": ("sapo", "SAPO"),
    "vespo": ("vespo", "VESPO"),
    "vcpo": ("vcpo_async", "VCPO"),
    "decoupled": ("decoupled_ppo", "decoupled PPO"),
}
"""By the beginning of an arm's name: preset, and what rows call it."""
_VERSIONS = 2 * max(STALENESS)
"""Versions of the weights that the arms train, so that half of them have rollouts of the greatest staleness."""
_STALE_GROUPS = 3
"""Groups of each version: with few, that many versions fit the time of a cell."""


def _versions(config: AblationConfig) -> int:
    """The versions of arms with stale rollouts; in proportion fewer where other arms get less time than usual."""
    usual = AblationConfig().cpu_seconds
    return max(1, round(_VERSIONS * config.cpu_seconds / usual))


def _describe_equal_versions(config: AblationConfig) -> str:
    return (
        "Every other arm goes on from the policy that `expert` trained with its seed, for "
        f"{_versions(config)} versions of {config.grpo.updates} optimiser steps on {_STALE_GROUPS} groups of "
        f"{config.grpo.group_size}, paid for solved tasks. Lag: how many versions older than the trained weights those "
        "were that drew the tokens, as a mean over steps and at the last; it rises by 1 a step to the staleness."
    )


def _stale(preset: str, staleness: int) -> Callable[[AblationConfig], Stages]:
    def stages(config: AblationConfig) -> Stages:
        return {
            "grpo": replace(
                config.grpo,
                steps=_versions(config),
                limits=Staleness(per_step=_STALE_GROUPS, staleness=staleness),
                in_flight="drain",
                objective=ObjectiveConfig(preset=preset, parts=config.grpo.objective.parts),
                alarms=replace(config.grpo.alarms, ess=1e-9),  # it would have stale rollouts drawn anew
                save=SaveConfig(every=_VERSIONS // 4, minutes=None),  # a save holds all rollouts that wait
            )
        }

    return stages


def _stale_arm(objective: str, staleness: int) -> str:
    return f"{objective}-stale-{staleness}"


METHODS: Mapping[str, tuple[str, ObjectiveConfig]] = MappingProxyType(
    {
        "grpo": ("GRPO", ObjectiveConfig(parts={"rewards": ["solved"]})),
        **{
            preset: (name, ObjectiveConfig(preset=preset, parts={"rewards": ["solved"], "regularisers": []}))
            for preset, name in (("gigpo", "GiGPO"), ("hiper", "HiPER"), ("seeupo", "SeeUPO"))
        },
    }
)
"""Ways to give credit, by the beginning of an arm's name: what rows call it, and its preset. They are paid for solved
tasks, and without terms against a reference policy."""
RATES = (1e-4, 3e-4, 1e-3)
"""The learning rates that each of them tries on `dev`."""
USUAL_RATE = 3e-4
"""The learning rate of a method whose rate was not chosen."""
TUNED: Mapping[str, Mapping[str, float]] = MappingProxyType({})
"""By site and method: the rate that solved most of `dev` in the tables `long-dev` and `alfworld-dev`.

They are not run yet, so every method has `USUAL_RATE`."""


def chosen_rate(site: str, method: str) -> float:
    """The learning rate of a method at a site."""
    return TUNED.get(site, {}).get(method, USUAL_RATE)


def _method(method: str, site: str, rate: float) -> Callable[[AblationConfig], Stages]:
    def stages(config: AblationConfig) -> Stages:
        return {
            "grpo": replace(
                config.grpo,
                cpu_seconds=config.cpu_seconds,
                objective=METHODS[method][1],
                learner=replace(config.grpo.learner, lr=rate),
                play=SITES[site].play or config.grpo.play,
                critic=replace(config.grpo.critic, learner=LearnerConfig(lr=2e-3, layout="shared"), updates=2),
            )
        }

    return stages


def _method_arms(site: str) -> dict[str, AblationArm]:
    """The arms of a site, those that choose a rate on `dev`, and the warm start alone."""
    trained = {
        f"{method}-{site}": AblationArm(what=name, stages=_method(method, site, chosen_rate(site, method)), site=site)
        for method, (name, _) in METHODS.items()
    }
    tried = {
        f"{method}-{site}-{rate:g}": AblationArm(
            what=f"{name}, learning rate {rate:g}", stages=_method(method, site, rate), site=f"{site}-dev"
        )
        for method, (name, _) in METHODS.items()
        for rate in RATES
    }
    return {
        f"warm-start-{site}": AblationArm(what="warm start alone", stages=_nothing, site=site),
        **trained,
        f"warm-start-{site}-dev": AblationArm(what="warm start alone", stages=_nothing, site=f"{site}-dev"),
        **tried,
    }


def _method_tables(site: str) -> dict[str, AblationTable]:
    trained = tuple(f"{method}-{site}" for method in METHODS)
    tried = tuple(f"{method}-{site}-{rate:g}" for method in METHODS for rate in RATES)
    return {
        f"{site}-dev": AblationTable(
            question="Which learning rate is best for each way to give credit?",
            arms=(f"warm-start-{site}-dev", *tried),
            against=f"warm-start-{site}-dev",
            over="the warm start",
            budget=partial(_describe_site, site),
            seeds=1,
        ),
        site: AblationTable(
            question="Which way to give credit teaches most?",
            arms=(f"warm-start-{site}", *trained),
            against=f"grpo-{site}",
            over="GRPO",
            budget=partial(_describe_site, site),
            seeds=5,
        ),
    }


def _describe_site(site: str, config: AblationConfig) -> str:
    rates = "Rates were chosen on `dev`." if site in TUNED else f"No rate was chosen on `dev`: each is {USUAL_RATE:g}."
    return (
        f"{SITES[site].what}, in the format {SITES[site].format}. Every arm but a warm start trains for "
        f"{config.cpu_seconds:g} s of processor time on one thread after a warm start of {SITES[site].steps} steps. "
        f"{rates}"
    )


ARMS: Mapping[str, AblationArm] = MappingProxyType(
    {
        "warm-start": AblationArm(what="warm start alone", stages=_nothing),
        "expert": AblationArm(what="expert iteration, branching, bandit, compact", stages=_expert),
        "warm-start-opaque": AblationArm(what="warm start alone, former rendering", stages=_nothing, format="opaque"),
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
        **{
            _stale_arm(objective, staleness): AblationArm(
                what=f"{what}, staleness {staleness}", stages=_stale(preset, staleness), start="expert"
            )
            for staleness in STALENESS
            for objective, (preset, what) in _OBJECTIVES.items()
        },
        **_method_arms("long"),
        **_method_arms("alfworld"),
    }
)
"""By name. An arm that several tables compare is trained once a seed."""

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
            arms=("warm-start", "gradient", "gradient-points", "gradient-flipped", "gradient-former-price"),
            against="gradient",
            over="gradient",
        ),
        **_method_tables("long"),
        **_method_tables("alfworld"),
        "staleness": AblationTable(
            question="Which objective tolerates stale rollouts?",
            arms=("expert", *(_stale_arm(objective, at) for at in STALENESS for objective in _OBJECTIVES)),
            against={
                _stale_arm(objective, at): _stale_arm("grpo", at)
                for at in STALENESS
                for objective in _OBJECTIVES
                if objective != "grpo"
            },
            over="GRPO",
            budget=_describe_equal_versions,
        ),
    }
)
"""By name, in the order in which their cells are run."""
