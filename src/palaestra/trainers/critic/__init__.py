"""Critics: expected returns of a policy (values), for estimators that compare them with actual returns."""

from palaestra.trainers.critic.config import CriticConfig, CriticLoss
from palaestra.trainers.critic.critic import Critic
from palaestra.trainers.critic.places import ValueReading, value_reading

__all__ = ["Critic", "CriticConfig", "CriticLoss", "ValueReading", "value_reading"]
