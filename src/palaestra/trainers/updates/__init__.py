"""The update on a batch of rollouts: the passes that fill in its columns, and the training steps."""

from palaestra.trainers.updates.chosen import filter_trajectories, reshape_rewards
from palaestra.trainers.updates.minibatches import train_minibatches
from palaestra.trainers.updates.passes import POLICY, fill_columns, fill_current_logprobs, initial_columns
from palaestra.trainers.updates.temperature import temperature_metrics, train_temperature_head
from palaestra.trainers.updates.trained import TrainableHead, TrainableModel
from palaestra.trainers.updates.turns import train_turn_by_turn

__all__ = [
    "POLICY",
    "TrainableHead",
    "TrainableModel",
    "fill_columns",
    "fill_current_logprobs",
    "filter_trajectories",
    "initial_columns",
    "reshape_rewards",
    "temperature_metrics",
    "train_minibatches",
    "train_temperature_head",
    "train_turn_by_turn",
]
