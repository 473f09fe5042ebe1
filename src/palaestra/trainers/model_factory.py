"""Who makes the models of a stage: in this process, or spread over a process group."""

from typing import Protocol

from palaestra.trainers.critic import Critic, CriticConfig
from palaestra.trainers.learner import Learner, LearnerConfig
from palaestra.trainers.model.decoder import Decoder


class ModelFactory(Protocol):
    """Makes the models of a stage: first its learner, then the others."""

    def learner(self, model: Decoder, config: LearnerConfig, /) -> Learner:
        """The learner of the policy; models of an earlier stage are no longer used."""
        ...

    def reference(self, model: Decoder, config: LearnerConfig, /) -> Learner:
        """The reference policy, which is never trained."""
        ...

    def critic(self, model: Decoder, config: CriticConfig, /, *, heads: int) -> Critic:
        """A critic with so many kinds of values."""
        ...


class LocalModels:
    """Makes models in this process."""

    def learner(self, model: Decoder, config: LearnerConfig, /) -> Learner:
        """See `ModelFactory`."""
        return Learner(model, config)

    def reference(self, model: Decoder, config: LearnerConfig, /) -> Learner:
        """See `ModelFactory`."""
        return Learner(model, config)

    def critic(self, model: Decoder, config: CriticConfig, /, *, heads: int) -> Critic:
        """See `ModelFactory`."""
        return Critic(model, config, heads=heads)
