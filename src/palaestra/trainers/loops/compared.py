"""Which parts of an objective compare the trajectories of a group, and so learn nothing from a group of one."""

from palaestra.trainers.objectives import BuiltObjective

COMPARING = frozenset(
    {
        ("advantage", "adca"),
        ("advantage", "blockwise"),
        ("advantage", "cm2"),
        ("advantage", "gdpo"),
        ("advantage", "gpg"),
        ("advantage", "group"),
        ("advantage", "history"),
        ("advantage", "igpo"),
        ("advantage", "maxrl"),
        ("advantage", "mig"),
        ("advantage", "mt-grpo"),
        ("advantage", "opo"),
        ("advantage", "opob"),
        ("advantage", "opob-proxy"),
        ("advantage", "pass-at-k"),
        ("advantage", "reinforce-pp-baseline"),
        ("advantage", "rloo"),
        ("advantage", "sharp"),
        ("filter", "rank"),
        ("whole", "dpo"),
        ("whole", "flowrl"),
        ("whole", "ipo"),
        ("whole", "oapl"),
        ("whole", "sppo"),
    }
)
"""Parts, by plug and name, whose gradient is 0 where every group has one trajectory."""


def comparing_parts(built: BuiltObjective) -> list[str]:
    """Descriptions of the parts of an objective that compare a group; empty if a group of one has a gradient."""
    return [f"{part.plug} {part.name}" for part in built.parts if (part.plug, part.name) in COMPARING]
