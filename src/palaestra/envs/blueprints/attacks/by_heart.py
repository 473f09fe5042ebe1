"""Another handbook by heart: what was right under other numbers, done on the same records."""

from palaestra.envs.attack import WorldScript
from palaestra.envs.instance import Instance
from palaestra.envs.rule_twin import handbook_variants, rule_twin, rules_asked_for
from palaestra.envs.world import ALL_RULES_FROM


def play_by_heart(task: Instance) -> WorldScript:
    """The solution of the task under a handbook in which every number is another, whatever its own handbook says.

    It reads the sections that a solution reads, and does not heed them. It makes no call where the request goes by no
    number, and where the other handbook leaves nothing to say.
    """
    variants = handbook_variants(task.world)
    if variants is None or not variants.changes:
        return
    index = int(task.spec.id.rpartition("/")[2])
    if not rules_asked_for(task.world, task.family, index) & variants.changes.keys():
        return
    twin = rule_twin(task, variants(task.spec.world_seed, ALL_RULES_FROM))
    if twin is not None:
        yield from ([call] for call in twin.oracle)
