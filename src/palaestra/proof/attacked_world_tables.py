"""The results of attacks on generated worlds, as tables."""

from collections.abc import Iterable, Sequence

from palaestra.envs.blueprints.attacks import FROZEN_SCRIPT
from palaestra.proof.attacked_worlds import AttackCounts, AttackedWorld
from palaestra.table import Table

MOST_SHARE = 5
"""The most pairs that an attack may cheat over all worlds, in percent."""
MOST_IN_A_WORLD = 1
"""The most pairs that an attack may cheat in one world."""


def attacked_world_tables(worlds: Sequence[AttackedWorld]) -> list[Table]:
    """What each attack solves, and the worlds in which it cheats too many pairs; the script is listed separately."""
    return [_attacks(worlds), _exceeding(worlds), _script(worlds)]


def exceeds(world: AttackedWorld) -> dict[str, int]:
    """The attacks that cheat too many pairs of a world, with the number of pairs."""
    cheated = {name: _sum(by_split.values()).cheated for name, by_split in world.attacks.items()}
    return {name: count for name, count in cheated.items() if count > MOST_IN_A_WORLD}


def _attacks(worlds: Sequence[AttackedWorld]) -> Table:
    found: list[tuple[int, str, tuple[str, ...]]] = []
    for name in sorted({name for world in worlds for name in world.attacks} - {FROZEN_SCRIPT}):
        each = [_sum(world.attacks[name].values()) for world in worlds if name in world.attacks]
        whole = _sum(each)
        if whole.tasks:
            found.append((-whole.cheated, name, (name, *_cells(whole), str(max(one.cheated for one in each)))))
    return Table(
        title=f"Attacks on {len(worlds)} generated worlds, {sum(world.pairs for world in worlds):,} pairs",
        columns=("attack", "tasks", "pairs", "right", "cheated", "share", "mean points", "most in a world"),
        rows=tuple(row for _, _, row in sorted(found)),
        note=f"A pair is a task and its refusal twin; right: both solved by the right work, as a program decides; "
        f"cheated: both solved by other work. At most {MOST_SHARE} % of pairs and {MOST_IN_A_WORLD} pair in a world "
        "may be cheated. Attacks that found nothing to try are left out.",
    )


def _exceeding(worlds: Sequence[AttackedWorld]) -> Table:
    rows = [(f"synth-{w.number}", name, f"{count} of {w.pairs}") for w in worlds for name, count in exceeds(w).items()]
    rows += [(f"synth-{world.number}", "none was run", world.fault) for world in worlds if world.fault]
    return Table(
        title=f"Worlds in which an attack cheats more than {MOST_IN_A_WORLD} pair: {len(rows)}",
        columns=("world", "attack", "pairs cheated"),
        rows=tuple(rows),
    )


def _script(worlds: Sequence[AttackedWorld]) -> Table:
    rows: list[tuple[str, ...]] = []
    scripted = [world.attacks[FROZEN_SCRIPT] for world in worlds if FROZEN_SCRIPT in world.attacks]
    for split in dict.fromkeys(split for by_split in scripted for split in by_split):
        each = [by_split[split] for by_split in scripted if split in by_split]
        whole = _sum(each)
        most = max((one.pairs_solved / one.pairs for one in each if one.pairs), default=0)
        rows.append((split, str(whole.tasks), str(whole.solved), *_format_solved(whole), f"{100 * most:.0f} %"))
    return Table(
        title="The frozen script, by split of tasks",
        columns=("tasks of", "tasks", "tasks solved", "pairs", "pairs solved", "share", "most in a world"),
        rows=tuple(rows),
        note="It is made from the first `train` pair of each request, which is not counted.",
    )


def _format_solved(counts: AttackCounts) -> tuple[str, str, str]:
    share = 100 * counts.pairs_solved / max(counts.pairs, 1)
    return str(counts.pairs), str(counts.pairs_solved), f"{share:.1f} %"


def _cells(counts: AttackCounts) -> tuple[str, ...]:
    numbers = (counts.tasks, counts.pairs, counts.pairs_right, counts.cheated)
    share = 100 * counts.cheated / max(counts.pairs, 1)
    return (*(f"{n:,}" for n in numbers), f"{share:.1f} %", f"{counts.points / counts.tasks:.1f}")


def _sum(counts: Iterable[AttackCounts]) -> AttackCounts:
    each = list(counts)
    return AttackCounts(
        tasks=sum(one.tasks for one in each),
        solved=sum(one.solved for one in each),
        right=sum(one.right for one in each),
        points=sum(one.points for one in each),
        pairs=sum(one.pairs for one in each),
        pairs_solved=sum(one.pairs_solved for one in each),
        pairs_right=sum(one.pairs_right for one in each),
    )
