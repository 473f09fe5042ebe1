"""Arms with methods of credit assignment: GRPO, GiGPO, HiPER and SeeUPO, and the learning rates tried on `dev`."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from palaestra.benchmarks.ablations.arm import AblationArm, AblationConfig, AblationTable, Stages, train_nothing
from palaestra.benchmarks.ablations.sites import SITES
from palaestra.trainers import LearnerConfig, ObjectiveConfig
from palaestra.trainers.objectives.recipe import Spec


def _paid_for_solved(preset: str, amount: float = 1.0) -> ObjectiveConfig:
    rewards: list[Spec] = ["solved"] if amount == 1 else [{"part": "solved", "amount": amount}]
    return ObjectiveConfig(preset=preset, parts={"rewards": rewards, "regularisers": []})


METHODS: Mapping[str, tuple[str, ObjectiveConfig]] = MappingProxyType(
    {
        "grpo": ("GRPO", ObjectiveConfig(parts={"rewards": ["solved"]})),
        "gigpo": ("GiGPO", _paid_for_solved("gigpo")),
        "hiper": ("HiPER", _paid_for_solved("hiper", 10.0)),  # its penalties are for returns of 10
        "seeupo": ("SeeUPO", _paid_for_solved("seeupo")),
    }
)
"""Methods of credit assignment, by the first part of an arm's name: the name in rows, and the preset. Rewards are for
solved tasks only, and there are no terms against a reference policy."""
RATES: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "grpo": (1e-4, 3e-4, 1e-3),
        "gigpo": (1e-4, 3e-4, 1e-3),
        "hiper": (3e-5, 1e-4, 3e-4, 1e-3),
        "seeupo": (1e-5, 3e-5, 1e-4, 3e-4, 1e-3),
    }
)
"""The learning rates that each method tries on `dev`.

Each began with the three greatest. Lower rates were added while the lowest was the best: SeeUPO takes a step for every
turn, the others take two for a batch.
"""
TUNED: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {"long": MappingProxyType({"grpo": 3e-4, "gigpo": 3e-4, "hiper": 1e-4, "seeupo": 3e-5})}
)
"""For each site and method, the rate that solved most of the site's `dev` at temperature 1; of two equal rates, the one
with less harm."""


def _tuned_at(site: str) -> str:
    """The site whose rates a site takes: its own, or those of the long families if its `dev` was not run."""
    return site if site in TUNED else "long"


def chosen_rate(site: str, method: str) -> float:
    """The learning rate of a method at a site."""
    return TUNED[_tuned_at(site)][method]


def _method(method: str, site: str, rate: float) -> Callable[[AblationConfig], Stages]:
    def stages(config: AblationConfig) -> Stages:
        return {
            "grpo": replace(
                config.grpo,
                cpu_seconds=config.cpu_seconds,
                objective=METHODS[method][1],
                choice=replace(config.grpo.choice, instances=SITES[site].instances),
                limits=replace(config.grpo.limits, per_step=SITES[site].groups or config.grpo.limits.per_step),
                learner=replace(config.grpo.learner, lr=rate),
                play=SITES[site].play or config.grpo.play,
                critic=replace(config.grpo.critic, learner=LearnerConfig(lr=2e-3, layout="shared"), updates=2),
            )
        }

    return stages


def method_arms(site: str) -> dict[str, AblationArm]:
    """The arms of a site: the methods, their learning rates on `dev`, and the warm start alone."""
    trained = {
        f"{method}-{site}": AblationArm(what=name, stages=_method(method, site, chosen_rate(site, method)), site=site)
        for method, (name, _) in METHODS.items()
    }
    tried = {
        f"{method}-{site}-{rate:g}": AblationArm(
            what=f"{name}, learning rate {rate:g}", stages=_method(method, site, rate), site=f"{site}-dev"
        )
        for method, (name, _) in METHODS.items()
        for rate in RATES[method]
    }
    return {
        f"warm-start-{site}": AblationArm(what="warm start alone", stages=train_nothing, site=site),
        **trained,
        f"warm-start-{site}-dev": AblationArm(what="warm start alone", stages=train_nothing, site=f"{site}-dev"),
        **tried,
    }


def method_tables(site: str) -> dict[str, AblationTable]:
    """The table of a site, preceded by the table that compares learning rates on its `dev`."""
    trained = tuple(f"{method}-{site}" for method in METHODS)
    tried = tuple(f"{method}-{site}-{rate:g}" for method in METHODS for rate in RATES[method])
    return {
        f"{site}-dev": AblationTable(
            question="Which learning rate is best for each way to give credit?",
            arms=(f"warm-start-{site}-dev", *tried),
            against=f"warm-start-{site}-dev",
            over="the warm start",
            site=f"{site}-dev",
            budget=partial(_describe_site, site),
            seeds=1,
        ),
        site: AblationTable(
            question="Which way to give credit teaches most?",
            arms=(f"warm-start-{site}", *trained),
            against=f"grpo-{site}",
            over="GRPO",
            site=site,
            budget=partial(_describe_site, site),
            seeds=5,
        ),
    }


def _describe_site(site: str, config: AblationConfig) -> str:
    return (
        f"{SITES[site].what}, in the format {SITES[site].format}. Every arm but a warm start trains for "
        f"{config.cpu_seconds:g} s of processor time on one thread after a warm start of {SITES[site].steps} steps. "
        f"Rates were chosen on `dev` of {SITES[_tuned_at(site)].what}."
    )
