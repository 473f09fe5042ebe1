"""What an agent could know: the values that the request or earlier calls showed before they were used."""

from collections.abc import Iterable, Mapping, Sequence

from palaestra.ids import tokens
from palaestra.proof.trial import OracleStep
from palaestra.records import Json, Message


def words(messages: Iterable[Message]) -> frozenset[str]:
    """The words and numbers in `messages`."""
    return frozenset[str]().union(*(tokens(message["content"]) for message in messages))


def leaves(value: Json | Mapping[str, Json]) -> list[Json]:
    """The single values inside an argument."""
    if isinstance(value, Mapping):
        return [leaf for part in value.values() for leaf in leaves(part)]
    if isinstance(value, list):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def needed_reads(steps: Sequence[OracleStep], needed: frozenset[int], opening: frozenset[str]) -> frozenset[int]:
    """The calls without which a call of `needed` would use a value that nothing had shown."""
    return frozenset(
        left_out for left_out in range(len(steps)) if not needed <= _not_blind(steps, opening, left_out=left_out)
    )


def _not_blind(steps: Sequence[OracleStep], opening: frozenset[str], *, left_out: int) -> frozenset[int]:
    """The calls whose values were all known when they were made. A blind call adds no knowledge."""
    somewhere = _observed_words(steps)
    known = set(opening)
    sound: set[int] = {left_out}
    for index, step in enumerate(steps):
        if index != left_out and all(t in known for t in _tokens(step) if t in somewhere):
            sound.add(index)
            known |= words(step.observation)
    return frozenset(sound)


def could_know(step: OracleStep, known: frozenset[str] | set[str], steps: Sequence[OracleStep]) -> bool:
    """Whether `known` has every value of the call that some result of the oracle's run shows."""
    somewhere = _observed_words(steps)
    return all(token in known for token in _tokens(step) if token in somewhere)


def _observed_words(steps: Sequence[OracleStep]) -> frozenset[str]:
    return frozenset[str]().union(*(words(step.observation) for step in steps))


def _tokens(step: OracleStep) -> list[str]:
    """The words in a call's arguments that must have been shown: ids and dates, but not prose and sums."""
    found = list(step.event.named)
    for leaf in leaves(step.call.arguments):
        if isinstance(leaf, bool) or leaf is None:
            continue
        text = str(leaf)
        if " " not in text and any(c.isdigit() for c in text) and not text.isdigit():
            found.append(text)
    return found
