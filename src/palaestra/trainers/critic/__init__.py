"""What is expected of a policy: values, for the estimators that compare what came with what was expected."""

from palaestra.trainers.critic.config import CriticConfig, CriticLoss
from palaestra.trainers.critic.critic import Critic
from palaestra.trainers.critic.places import ValueReading, value_reading

__all__ = ["Critic", "CriticConfig", "CriticLoss", "ValueReading", "value_reading"]
