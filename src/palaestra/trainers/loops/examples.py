"""The sequences that a self-imitation stage trains on: episodes that solved their tasks, and prefixes of others."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from palaestra.record import record
from palaestra.seeding import Stream
from palaestra.trainers.data.own import best_prefix, own_tokens
from palaestra.trainers.loops.imitation_config import KeepConfig
from palaestra.trainers.objectives import Metrics
from palaestra.trainers.rollouts.groups import RolloutGroup
from palaestra.trajectory import Episode, Tokens


@record
class ImitationExample:
    """A sequence to imitate."""

    task: str
    """The reference of its task."""
    solved: bool
    """Whether it is a whole episode that solved the task; otherwise it is a prefix without harm."""
    tokens: Tokens
    surprise: float = 0.0
    """The difference between its group's solve rate and the expected one, 0 to 1; 0 without an expectation."""


def family_of(task: str) -> str:
    """The family of a task's reference or id, with its world."""
    return task.rpartition("/")[0]


class ExampleStore:
    """The sequences that a stage keeps. They depend only on its groups and their order.

    Args:
        config: The limits.
        expected: The expected solve rate of a task, given its reference and a version of the weights. With it, the
            sequences whose groups differ most from the expectation are kept.
    """

    def __init__(self, config: KeepConfig, *, expected: Callable[[str, int], float] | None = None) -> None:
        self._config = config
        self._expected = expected
        self._families: dict[str, list[ImitationExample]] = {}

    def add(self, groups: Iterable[RolloutGroup]) -> int:
        """Keep the sequences of these groups that are worth imitating; returns their number."""
        kept = 0
        for group in groups:
            for example in self._choose(group):
                self._keep(example)
                kept += 1
        return kept

    def _choose(self, group: RolloutGroup) -> list[ImitationExample]:
        """The shortest different solutions of a group, or the best prefix if there is none."""
        solved = [episode for episode in group.episodes if episode.score.passed]
        if solved:
            written = sorted(map(own_tokens, solved), key=lambda tokens: (sum(tokens.sampled), tokens.ids))
            different = {tokens.ids: tokens for tokens in written}
            chosen = list(different.values())[: self._config.per_task]
            surprise = self._surprise(group)
            return [
                ImitationExample(task=group.task, solved=True, tokens=tokens, surprise=surprise) for tokens in chosen
            ]
        prefix = best_prefix(group.episodes) if self._config.prefixes else None
        if prefix is None:
            return []
        tokens = own_tokens(group.episodes[prefix.member], turns=prefix.turns)
        return [ImitationExample(task=group.task, solved=False, tokens=tokens)]

    def _surprise(self, group: RolloutGroup) -> float:
        """Measure the surprise on whole trajectories only: continuations start from turns that others have played."""
        if self._expected is None:
            return 0.0
        whole = [e for e in group.episodes if (tokens := e.segments[0].tokens) is None or not tokens.shared_turns]
        rate = sum(episode.score.passed for episode in whole) / len(whole)
        return abs(rate - self._expected(group.task, group.version))

    def _keep(self, example: ImitationExample) -> None:
        """Keep the example; drop another one if a limit is exceeded.

        Prefixes are dropped before solutions, then those with less surprise, then the oldest.
        """
        kept = self._families.setdefault(family_of(example.task), [])
        same = [one for one in kept if one.task == example.task]
        if not example.solved and any(one.solved for one in same):
            return
        if example.solved:
            _remove(kept, [one for one in same if not one.solved])
            same = [one for one in same if one.solved]
        _remove(kept, [one for one in same if one.tokens.ids == example.tokens.ids])
        same = [one for one in same if one.tokens.ids != example.tokens.ids]
        _remove(kept, same[: max(0, len(same) - self._config.per_task + 1)])
        kept.append(example)
        while len(kept) > self._config.per_family:
            _remove(kept, [min(kept, key=lambda one: (one.solved, one.surprise))])

    def __len__(self) -> int:
        return sum(map(len, self._families.values()))

    @property
    def families(self) -> Mapping[str, Sequence[ImitationExample]]:
        """The kept sequences of each family, the oldest first."""
        return self._families

    def metrics(self) -> Metrics:
        """`kept/solved` and `kept/prefixes`: numbers of sequences; `kept/families`: the number of families with any."""
        solved = sum(one.solved for kept in self._families.values() for one in kept)
        return {
            "kept/solved": float(solved),
            "kept/prefixes": float(len(self) - solved),
            "kept/families": float(len(self._families)),
        }


def _remove(kept: list[ImitationExample], examples: Iterable[ImitationExample]) -> None:
    """Remove these examples, compared by identity."""
    gone = {id(one) for one in examples}
    kept[:] = [one for one in kept if id(one) not in gone]


class BalancedDraw:
    """Samples sequences so that families have equal shares.

    Args:
        families: The sequences of each family; families without any are left out.
    """

    def __init__(self, families: Mapping[str, Sequence[Tokens]]) -> None:
        self._families = {name: tuple(own) for name, own in sorted(families.items()) if own}

    def __len__(self) -> int:
        return len(self._families)

    def draw(self, count: int, stream: Stream) -> list[Tokens]:
        """`count` random sequences; the counts of any two families differ by at most one.

        Args:
            count: The number of sequences; the result is empty if there is no family.
            stream: Random stream.
        """
        order: list[str] = []
        while self._families and len(order) < count:
            order += stream.permutation(list(self._families))
        return [stream.choice(self._families[name]) for name in order[:count]]


def draw_of_demonstrations(demonstrations: Sequence[Episode], tokens: Sequence[Tokens]) -> BalancedDraw:
    """Samples demonstrations with equal shares of families.

    Args:
        demonstrations: The episodes.
        tokens: The tokens of each episode.
    """
    families: dict[str, list[Tokens]] = {}
    for episode, own in zip(demonstrations, tokens, strict=True):
        families.setdefault(episode.task.family, []).append(own)
    return BalancedDraw(families)
