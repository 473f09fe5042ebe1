"""Which trajectories are trained on, before anything is compared: of groups that differ, those worth most."""

from palaestra.trainers.objectives.filters.mixed import mixed
from palaestra.trainers.objectives.filters.places import places
from palaestra.trainers.objectives.filters.prof import Prof
from palaestra.trainers.objectives.filters.rank import Rank
from palaestra.trainers.objectives.filters.uncertain import Uncertain, kept

__all__ = ["Prof", "Rank", "Uncertain", "kept", "mixed", "places"]
