"""How much better than expected what followed was."""

from palaestra.trainers.objectives.advantages.group import Group, group_advantages

__all__ = ["Group", "group_advantages"]
