"""Incompatible combinations of parts, and the columns that each kind of part can read."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from palaestra.errors import ConfigError
from palaestra.trainers.objectives.columns import COLUMNS, ColumnSource
from palaestra.trainers.objectives.part import Part, Plug
from palaestra.trainers.objectives.recipe import CONVERSION, Recipe, split_spec

_ONE_RATIO = "what is one ratio would count once for each token"
_OF_A_TURN = "its steps are bounded by the ratio of a whole turn (GSPO)"
_OWN_WEIGHTS = "each turn's step is held to the weights that it begins with"
_REPLACED = "it replaces ratio, trust region, corrections and masks"
RULES = (
    (
        "ratio.granularity=product",
        "trust/clip",
        "a product of a trajectory's ratios leaves any clip's bounds at once; take trust/vespo or trust/unclipped",
    ),
    ("ratio.granularity=sequence", "aggregation=token-*", _ONE_RATIO),
    ("ratio.granularity=sequence", "aggregation=seq-mean-token-sum", _ONE_RATIO),
    ("ratio.granularity=turn", "aggregation=token-sum", _ONE_RATIO),
    (
        "advantage/opo",
        "aggregation=seq-mean-token-mean",
        "its baseline is the best for sums over tokens; under a mean over each trajectory it is worse than none",
    ),
    ("schedule=turns", "ratio.granularity=token", _OF_A_TURN),
    ("schedule=turns", "ratio.granularity=product", _OF_A_TURN),
    ("schedule=turns", "ratio.anchor=rollout", _OWN_WEIGHTS),
    ("schedule=turns", "ratio.anchor=none", _OWN_WEIGHTS),
    ("schedule=turns", "whole/*", "a turn is updated by itself"),
    ("schedule=turns", "advantage/history", "every turn's step would count as another visit of the task"),
    ("whole/*", "correction/*", _REPLACED),
    ("whole/*", "mask/*", _REPLACED),
    ("whole/*", "transform/*", "it reads returns, and no advantages"),
    ("whole/*", "rate/*", "it has no importance weights to look at"),
    ("whole/*", "temperature/*", "a loss of whole trajectories has no term for what a temperature head chose"),
)
"""Incompatible facts of any parts: two patterns and the reason."""
_LATER: Mapping[Plug, frozenset[ColumnSource]] = {
    "filter": frozenset({"policy", "now", "norms", "reference", "critic"}),
    "reward": frozenset({"now", "critic"}),
}
"""The columns that are filled in only after such a part has run."""


def check_facts(recipe: Recipe, parts: Iterable[Part]) -> None:
    """Refuse incompatible parts.

    Raises:
        ConfigError: the check fails; the message has the reason.
    """
    facts = recipe.facts()
    for one in parts:
        own = f"{one.plug}/{one.name}"
        for pattern, reason in one.conflicts.items():
            for fact in sorted(facts - {own}):
                if fnmatchcase(fact, pattern):
                    raise ConfigError(f"{one.plug} {one.name} does not go with {fact}: {reason}")
        for pattern, reason in one.needs.items():
            if not any(fnmatchcase(fact, pattern) for fact in facts):
                raise ConfigError(f"{one.plug} {one.name} needs {pattern}: {reason}")
    for pattern, other, reason in RULES:
        if any(fnmatchcase(fact, pattern) for fact in facts) and any(fnmatchcase(fact, other) for fact in facts):
            raise ConfigError(f"{pattern} does not go with {other}: {reason}")


def check_refill(recipe: Recipe, parts: Iterable[Part]) -> None:
    """Refuse `refill` without a filter that leaves out single groups.

    Raises:
        ConfigError: the check fails; the message has the reason.
    """
    if recipe.refill < 0:
        raise ConfigError(
            f"refill={recipe.refill}: the number of replaced groups per group must not be negative; give 0 or more"
        )
    if recipe.refill and not any(one.each_group for one in parts):
        raise ConfigError(
            f"refill={recipe.refill}: no filter looks at each group alone, so none would be replaced; add `mixed`, or "
            "leave refill out"
        )


def check_conversion(recipe: Recipe) -> None:
    """Refuse a conversion after other parts have changed rewards.

    Raises:
        ConfigError: the conversion is not the first of the rewards, or is listed twice.
    """
    places = [place for place, spec in enumerate(recipe.rewards) if split_spec(spec)[0] == CONVERSION]
    if places and places != [0]:
        raise ConfigError(
            f"rewards: {CONVERSION} stands at place {places[-1] + 1}, and what it converts has been changed by then; "
            "let it be the first, and the only one"
        )


_IN_PLACE = frozenset({"solved", "ungraded"})
"""Parts that pay something else in place of all rewards."""


def check_reward_order(recipe: Recipe) -> None:
    """Refuse changes of rewards before a part that pays something else in their place.

    Raises:
        ConfigError: the check fails; the message names both parts.
    """
    before: list[str] = []
    for name in (split_spec(spec)[0] for spec in recipe.rewards):
        if name in _IN_PLACE and before:
            raise ConfigError(
                f"rewards: {name} pays something else in place of all rewards, so {before[-1]} before it would have no "
                f"effect; let {name} come first, or leave {before[-1]} out"
            )
        if name != CONVERSION:
            before.append(name)


_STRANGERS = ("chosen_R", "expert_T", "rephrased_R")
"""Columns of trajectories whose temperatures were not chosen by the head, or by one that read another prompt."""


def check_temperatures(recipe: Recipe, parts: Iterable[tuple[Part, Iterable[str]]]) -> None:
    """Refuse a learnt temperature beside trajectories that it was not learnt for.

    Args:
        recipe: The recipe.
        parts: Each part with the columns that it reads.

    Raises:
        ConfigError: a part reads such a column; the message names both.
    """
    if recipe.temperature is None:
        return
    for part, requires in parts:
        for column in sorted(set(requires).intersection(_STRANGERS)):
            raise ConfigError(
                f"{part.plug} {part.name} reads {column}, which comes with trajectories that the temperature head did "
                f"not sample; leave the part out, or `temperature` ({split_spec(recipe.temperature)[0]})"
            )


def check_columns(part: Part, requires: Iterable[str], *, valued: bool, chooses: bool) -> None:
    """Refuse a part that reads columns that are not available when it runs.

    Args:
        part: The part.
        requires: The columns that it reads.
        valued: Whether the advantage has a critic filled in.
        chooses: Whether a temperature head chooses.

    Raises:
        ConfigError: a column is not available; the message names it and its meaning.
    """
    for column in sorted(requires):
        if column not in COLUMNS:
            raise ConfigError(
                f"{part.plug} {part.name} reads {column}, which nobody fills in; there are: {', '.join(COLUMNS)}"
            )
        source, meaning = COLUMNS[column].source, COLUMNS[column].meaning
        if source in _LATER.get(part.plug, ()):
            raise ConfigError(
                f"{part.plug} {part.name} reads {column} ({meaning}), which is filled in only after it was asked"
            )
        if part.each_group and source == "given":
            raise ConfigError(
                f"{part.plug} {part.name} reads {column} ({meaning}), which a filler fills in once a step's groups are "
                "complete, and looks at each group before; register it without each_group"
            )
        if source == "head" and part.plug != "temperature" and not chooses:
            raise ConfigError(
                f"{part.plug} {part.name} reads {column} ({meaning}), and no temperature is learnt; add "
                'temperature = "introllm"'
            )
        if source == "critic" and not valued:
            raise ConfigError(
                f"{part.plug} {part.name} reads {column} ({meaning}), and the advantage has no critic; take one "
                "that has, such as gae"
            )


_BLIND = frozenset({"trust/reinforce"})
"""Trust regions that ignore the ratio."""


def corrects_stale(recipe: Recipe) -> bool:
    """Whether a recipe corrects for rollouts that older weights sampled.

    A ratio to the rollout's weights does if the trust region uses it. So does a correction between those weights and
    the ones that the batch began with, and V-trace, whose advantages contain the ratio. A loss of whole trajectories
    regresses or ranks samples, whatever policy drew them.
    """
    facts = recipe.facts()
    if (
        recipe.whole is not None
        or "advantage/v-trace" in facts
        or any(fact.startswith("correction/") for fact in facts)
    ):
        return True
    return recipe.ratio.anchor == "rollout" and facts.isdisjoint(_BLIND)
