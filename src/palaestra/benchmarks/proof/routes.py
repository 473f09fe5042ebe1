"""Right work done otherwise. A rubric that rejects one of these is brittle: it punishes what is not wrong."""

from collections.abc import Iterator
from dataclasses import replace

from palaestra.benchmarks.proof.knowledge import could_know, words
from palaestra.benchmarks.proof.mutants import ENDINGS
from palaestra.benchmarks.proof.trial import Trial
from palaestra.benchmarks.proof.variants import Variant, inserted, moved, variant, written
from palaestra.records import ToolCall
from palaestra.seeding import Stream
from palaestra.tools import legal_call

EXTRA_READS = 4
PARAPHRASES = ("All done.", "Kia ora! Here is what we did for you; write again if anything is unclear.")


def routes(trial: Trial) -> Iterator[Variant]:
    """Every other right way through one task that can be derived, the same ones each time."""
    stream = Stream.root("routes", trial.instance.spec.id)
    yield from _reordered(trial)
    yield from _extra_reads(trial, stream)
    yield from _paraphrased(trial)
    yield from _batched(trial)
    for number, calls in enumerate(trial.instance.alternatives, 1):
        yield variant("alternative", f"the author's alternative {number}", list(calls))


def _reordered(trial: Trial) -> Iterator[Variant]:
    """Neighbours that do not depend on each other, swapped."""
    known = set(words(trial.instance.messages))
    for position in range(len(trial.calls) - 2):
        first, second = trial.steps[position], trial.steps[position + 1]
        if could_know(second.call, known, trial.steps) and not _depends(trial, position):
            what = f"{written(second.call)} before {written(first.call)}"
            yield variant("reordered", what, moved(trial.calls, position + 1, position))
        known |= words(first.observation)


def _depends(trial: Trial, position: int) -> bool:
    """Whether the call after `position` needs what the one at `position` did."""
    first, second = trial.steps[position], trial.steps[position + 1]
    if second.call.tool in ENDINGS:
        return True
    awaited = {name for c in trial.instance.rubric.criteria if c.id in second.met for name in c.after}
    if awaited & first.met:
        return True
    touched = {(c.table, c.key) for c in first.changes}
    shown = set(second.event.shown)
    return bool(touched & ({(c.table, c.key) for c in second.changes} | shown)) or bool(
        first.changes and set(second.event.named) & {key for _, key in touched}
    )


def _extra_reads(trial: Trial, stream: Stream) -> Iterator[Variant]:
    """Reads that nobody asked for, one that is refused, and one repeated."""
    world = trial.instance.world
    offered = {t.name: t for t in world.toolbox.offered(world.role)}
    reads = [tool for name, tool in offered.items() if _looks(trial, ToolCall(tool=name, arguments={}))]
    ids = {info.name: [r.id for r in trial.instance.settled.find(info.kind)] for info in world.schema}
    for _ in range(EXTRA_READS):
        call = legal_call(reads, lambda table: ids.get(table, []), stream)
        position = stream.below(len(trial.calls))
        yield variant("extra read", f"and {written(call)} at {position}", inserted(trial.calls, position, call))
    refused = ToolCall(tool=reads[0].name, arguments={"no_such_argument": 1})
    yield variant("extra read", "and a call that is refused", inserted(trial.calls, 0, refused))
    again = next((c for c in trial.calls if c.tool in {t.name for t in reads}), None)
    if again is not None:
        yield variant("extra read", f"and {written(again)} again", inserted(trial.calls, len(trial.calls) - 1, again))


def _looks(trial: Trial, call: ToolCall) -> bool:
    """Whether a call only looks something up: it neither writes, nor talks, nor ends the episode."""
    toolbox = trial.instance.world.toolbox
    return not toolbox[call.tool].writes and call.tool not in {*ENDINGS, toolbox.prose_tool}


def _paraphrased(trial: Trial) -> Iterator[Variant]:
    """The same work, told in other words."""
    toolbox = trial.instance.world.toolbox
    for text in PARAPHRASES:
        calls = [
            replace(
                call,
                arguments={n: text if n in toolbox[call.tool].prose else v for n, v in call.arguments.items()},
            )
            for call in trial.calls
        ]
        if tuple(calls) != trial.calls:
            yield variant("paraphrased", f"with the words {text!r}", calls)


def _batched(trial: Trial) -> Iterator[Variant]:
    """As many calls in one turn as an agent could make without waiting for an answer: work never beside a read."""
    turns: list[tuple[ToolCall, ...]] = []
    known = set(words(trial.instance.messages))
    arriving: set[str] = set()
    for step in trial.steps:
        unread = turns and not _looks(trial, step.call) and any(_looks(trial, call) for call in turns[-1])
        if turns and not unread and could_know(step.call, known, trial.steps):
            turns[-1] = (*turns[-1], step.call)
        else:
            known |= arriving
            arriving = set()
            turns.append((step.call,))
        arriving |= words(step.observation)
    if len(turns) < len(trial.calls):
        yield Variant(kind="batched", what=f"in {len(turns)} turns", turns=tuple(turns))
