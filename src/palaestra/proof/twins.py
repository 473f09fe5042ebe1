"""Refusal twins: the same request in a world where it must be refused, so that only the records decide."""

from dataclasses import dataclass

from palaestra.envs import ToolEnv
from palaestra.proof.trial import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinProof:
    """The comparison of a twin with its sibling."""

    sibling: str
    """The task whose request can be granted."""
    same_request: bool
    """Whether both show the agent the same request, byte for byte."""
    sibling_rejected: bool
    """Whether the sibling's solution does not solve the twin."""
    twin_rejected: bool
    """Whether the twin's solution does not solve the sibling."""

    @property
    def holds(self) -> bool:
        """Whether all checks pass."""
        return self.same_request and self.sibling_rejected and self.twin_rejected


def prove_twin(env: ToolEnv, twin: Trial) -> TwinProof | None:
    """Compare a task with its sibling; `None` if it is not a twin. The state of the environment changes."""
    spec = twin.instance.spec
    twin_of = env.task_set.families[spec.family].twin_of
    if twin_of is None:
        return None
    sibling_id = f"{twin_of}/{spec.id.rpartition('/')[2]}"
    sibling = Trial(env, sibling_id)
    return TwinProof(
        sibling=sibling_id,
        same_request=_request(sibling) == _request(twin),
        sibling_rejected=not twin.play([[call] for call in sibling.calls]).passed,
        twin_rejected=not sibling.play([[call] for call in twin.calls]).passed,
    )


def _request(trial: Trial) -> list[str]:
    return [message["content"] for message in trial.instance.messages if message["role"] == "user"]
