"""What `check_world` says: how much it looked at, and what it found."""

from dataclasses import dataclass

from palaestra.errors import EnvironmentCheckError

_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldFinding:
    """One thing that is wrong with a world."""

    what: str
    """What is wrong, with the value."""
    rule: str
    way_out: str

    def __str__(self) -> str:
        """What is wrong, the rule, and what to do."""
        return f"{self.what}; {self.rule}. {self.way_out}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldReport:
    """What a check of a world looked at and found."""

    world: str
    """The world's id."""
    seeds: tuple[int, ...]
    """The world seeds that were populated."""
    handbooks: tuple[int, ...]
    """The handbooks under which each of them was."""
    families: int
    """How many families, twins included, were asked for tasks."""
    tasks: int
    """How many first tasks were made under each handbook: one of each family and split."""
    tools: int
    """How many tools the role may call."""
    rules: int | None
    """How many rules were changed one by one; `None`: the world does not say what can be changed."""
    findings: tuple[WorldFinding, ...]

    def summary(self) -> str:
        """What was looked at, in a line."""
        rules = "rules not changed one by one" if self.rules is None else _count(self.rules, "rule")
        seeds, handbooks = _count(len(self.seeds), "seed"), _count(len(self.handbooks), "handbook")
        families = f"{self.families} {'family' if self.families == 1 else 'families'}"
        tasks, tools = _count(self.tasks, "first task"), _count(self.tools, "tool")
        return f"{seeds}, {handbooks}, {families}, {tasks}, {tools}, {rules}"

    def raise_for_findings(self) -> None:
        """Make an error of what was found.

        Raises:
            EnvironmentCheckError: something was found; the message lists the first twenty findings.
        """
        if not self.findings:
            return
        lines = [str(finding) for finding in self.findings[:_SHOWN]]
        if len(self.findings) > _SHOWN:
            lines.append(f"and {len(self.findings) - _SHOWN} more")
        raise EnvironmentCheckError("\n".join(f"world {self.world}: {line}" for line in lines))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
