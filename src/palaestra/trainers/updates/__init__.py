"""What is done with a batch of rollouts: which passes fill in its columns, and in which steps it is trained on."""

from palaestra.trainers.updates.chosen import kept, paid
from palaestra.trainers.updates.minibatches import minibatches
from palaestra.trainers.updates.passes import POLICY, beforehand, filled, now
from palaestra.trainers.updates.trained import Trained
from palaestra.trainers.updates.turns import turn_by_turn

__all__ = ["POLICY", "Trained", "beforehand", "filled", "kept", "minibatches", "now", "paid", "turn_by_turn"]
