"""The default handbook by heart: what was right under other rules, done on the same records."""

from palaestra.envs.attack import WorldScript
from palaestra.envs.instance import Instance
from palaestra.envs.rule_twin import rule_twin


def play_by_heart(task: Instance) -> WorldScript:
    """The solution of the task's rule twin: what is right by the default handbook, whatever the handbook says.

    It reads the sections that a solution reads, and does not heed them. In a task that goes by the default rules, and
    where those leave nothing to say, it makes no call.
    """
    twin = rule_twin(task)
    if twin is not None and twin.rules != task.rules:
        yield from ([call] for call in twin.oracle)
