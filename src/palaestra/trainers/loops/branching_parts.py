"""Which objectives can learn from continuations of forks, and why others cannot.

A continuation shares the turns, calls and observations before its fork, but it sampled none of their tokens and gets no
reward for their turns. A part that reads more than the returns, the outcome and the sampled tokens could give credit
for what is the same in all continuations.
"""

from collections.abc import Mapping, Sequence

from palaestra.trainers.fillers import ChosenFiller
from palaestra.trainers.objectives import BuiltObjective
from palaestra.trainers.objectives.part import Plug

_COMPARING = "continuations are credited by their return against that of the others from the same fork"
_KNOWN: Mapping[Plug, tuple[frozenset[str], str]] = {
    "advantage": (
        frozenset({"dr-mas", "gpg", "group", "maxrl", "opo", "pass-at-k", "reinforce-pp-baseline", "rloo"}),
        _COMPARING,
    ),
    "transform": (frozenset({"batch-norm", "drop-small"}), _COMPARING),
    "filter": (frozenset({"mixed"}), "each group is kept or left out by itself, a fork's continuations too"),
    "reward": (
        frozenset({"harm-scale", "kl-in-reward", "solved", "tool-bonus", "unit"}),
        "a continuation is paid for what came behind its fork, and not for its whole trajectory",
    ),
    "rate": (frozenset(), "the learning rate would follow whole trajectories and beginnings of none at once"),
    "temperature": (frozenset(), "a temperature head did not choose for the shared tokens"),
    "whole": (frozenset(), "it compares or regresses whole trajectories"),
}
"""By plug, the parts that are correct for continuations, and why others are refused. Parts of other plugs read each
sampled token by itself."""


def check_branching(built: BuiltObjective, fillers: Sequence[ChosenFiller]) -> None:
    """Refuse objectives that cannot learn from continuations.

    Args:
        built: The objective.
        fillers: The fillers of columns of whole trajectories.

    Raises:
        ValueError: a part or setting cannot be used; the message names it, the reason and what to do.
    """
    way_out = "leave the section branching out, or take an objective without it"
    for part in built.parts:
        known, reason = _KNOWN.get(part.plug, (None, ""))
        if known is not None and part.name not in known:
            others = f" ({part.plug}s that do: {', '.join(sorted(known))})" if known else ""
            raise ValueError(f"branching does not go with {part.plug} {part.name}: {reason}{others}; {way_out}")
    if built.recipe.schedule.name == "turns":
        raise ValueError(
            "branching does not go with schedule=turns: a place among the turns of a continuation may be before its "
            f"fork, where nothing is trained; {way_out}"
        )
    if built.recipe.refill:
        raise ValueError(
            f"branching does not go with refill={built.recipe.refill}: groups that solved nothing would be replaced in "
            "place of being continued; take objective.parts.refill = 0, or leave the section branching out"
        )
    if fillers:
        columns = ", ".join(sorted(name for one in fillers for name in one.columns))
        raise ValueError(
            f"branching does not go with fillers of columns ({columns}): they fill in whole trajectories alone; "
            f"{way_out}"
        )
