"""State machines that count the steps they take, run shard by shard until they have taken enough."""

import itertools
from typing import ClassVar, cast

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, run_state_machine_as_test

SETTINGS = settings(
    max_examples=20,
    stateful_step_count=60,
    deadline=None,
    database=None,
    # What a stream draws from a seed does not shrink, and trying takes minutes; the steps are printed as they are.
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


class CountedMachine(RuleBasedStateMachine):
    """A state machine that counts its steps: the rules that it ran to their end, in all its runs."""

    steps: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self._begun = False

    @invariant()
    def a_step_is_counted(self) -> None:
        # Invariants are asked once before the first rule, too.
        type(self).steps += self._begun
        self._begun = True


def run_shard(machine: type[CountedMachine], shard: int, *, steps: int) -> int:
    """Run `machine` on this shard's own seeds until it has taken `steps` steps; how many it took."""
    counted = cast("type[CountedMachine]", type(f"{machine.__name__}{shard}", (machine,), {"steps": 0}))
    for turn in itertools.count():
        if counted.steps >= steps:
            return counted.steps
        run_state_machine_as_test(seed(10_000 * shard + turn)(counted), settings=SETTINGS)
    raise AssertionError("counting ended")
