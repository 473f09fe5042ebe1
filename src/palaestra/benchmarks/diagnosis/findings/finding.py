"""A finding, which names a defect of a run with numbers and a remedy; and shared wording of findings."""

from collections.abc import Mapping, Sequence

from palaestra.record import record
from palaestra.records import Json

_FOLLOWING_RULES = frozenset({"bandit", "goldilocks", "paced"})


@record
class TrainingFinding:
    """A reason why a run does not learn, or evidence that it can."""

    name: str
    """The name of the rule that made the finding; a stage has at most one finding of a name."""
    stage: str
    """The name of the stage; empty where the finding is about the run."""
    importance: float
    """A number from 0 to 1: about the share of affected rollouts times the certainty that the defect stops learning."""
    sentence: str
    """The defect, with its numbers."""
    remedy: str
    """The remedy; empty where nothing has to change."""


def percent(share: float) -> str:
    """Format a share, such as "12.5 %"; whole numbers have no decimal."""
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


def join_names(names: Sequence[str], *, most: int = 4) -> str:
    """Join names with commas; after `most` names, state how many more there are."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def short_family(family: str) -> str:
    """The name of a family without its world: "fix-build" for "storefront/fix-build"."""
    return family.rpartition("/")[2]


def choice_settings(settings: Mapping[str, Json]) -> Mapping[str, Json]:
    """The settings of the choice of tasks in a stage's settings; empty where they are not recorded."""
    choice = settings.get("choice")
    return choice if isinstance(choice, dict) else {}


def follows_results(settings: Mapping[str, Json]) -> bool:
    """Whether a stage chose its tasks by the results of earlier groups."""
    return choice_settings(settings).get("rule") in _FOLLOWING_RULES
