"""Requirements of a stage with a learnt temperature for its settings and its initial policy."""

from palaestra.errors import ConfigError
from palaestra.trainers.objectives import BuiltObjective
from palaestra.trainers.objectives.parts import TemperaturePolicy
from palaestra.trainers.policy import Policy


def check_temperature_head(built: BuiltObjective, *, temperature: float, lora: bool, vllm: bool) -> None:
    """Refuse settings that a temperature head cannot have.

    Args:
        built: The objective.
        temperature: The temperature of rollouts until the head first chooses.
        lora: Whether adapters are trained instead of the weights.
        vllm: Whether vLLM samples.

    Raises:
        ValueError: a check fails; the message names the setting, the rule and what to do.
    """
    chooses = built.temperature
    if chooses is None:
        return
    if vllm:
        raise ValueError(
            "vllm: the objective learns temperatures, and vLLM samples a whole turn at one; leave grpo.vllm out, so "
            "that our own engine draws, or take an objective without `temperature`"
        )
    if lora:
        raise ValueError(
            "learner.lora: a temperature head is trained with the weights of its policy, and adapters leave those "
            "alone; leave learner.lora out, or take an objective without `temperature`"
        )
    low, high = chooses.range.low, chooses.range.high
    if not low <= temperature <= high:
        raise ValueError(
            f"play.temperature={temperature}: rollouts begin at it, and the head chooses from {low} to {high}; give "
            "one of these temperatures, or widen objective.parts.temperature"
        )


def with_temperature_head(policy: Policy, chooses: TemperaturePolicy | None, *, seed: int) -> Policy:
    """The policy, with a temperature head if the objective trains one.

    A head that the model already has continues learning.

    Args:
        policy: The policy; its model may be changed.
        chooses: The temperature part of the objective.
        seed: Random seed of a new head's weights.

    Raises:
        ConfigError: the model's own head chooses from other temperatures.
    """
    if chooses is None:
        return policy
    found = policy.model.shape.temperature
    if found is None:
        policy.model.add_temperature_head(chooses.range, seed=seed)
    elif found != chooses.range:
        raise ConfigError(
            f"the policy's temperature head has {found}, and the objective asks for {chooses.range}; say the same in "
            "objective.parts.temperature, or start from the policy before it had a head"
        )
    return policy
