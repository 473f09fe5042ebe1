"""Other ways to do the right work. A rubric that rejects one of them is brittle: it punishes work that is not wrong."""

from collections.abc import Iterator

from palaestra.envs.user import stated_amounts
from palaestra.proof.arguments import places, with_value
from palaestra.proof.knowledge import could_know, words
from palaestra.proof.mutants.attempted import own_refused_calls
from palaestra.proof.trial import ENDINGS, OracleStep, Trial
from palaestra.proof.variants import SolutionVariant, format_call, insert_calls, move_call, variant
from palaestra.records import Json, ToolCall
from palaestra.seeding import Stream
from palaestra.tools import legal_call

EXTRA_READS = 4
PARAPHRASES = (
    "You find the outcome in our records.",
    "Kia ora! Here is what we did for you; write again if anything is unclear.",
)


def routes(trial: Trial) -> Iterator[SolutionVariant]:
    """Every other right way through one task that can be derived, the same ones each time."""
    stream = Stream.root("routes", trial.instance.spec.id)
    yield from _reorder(trial)
    yield from _extra_reads(trial, stream)
    yield from _paraphrase(trial)
    yield from _batch(trial)
    yield from _named_columns(trial)
    yield from alternatives(trial)


def alternatives(trial: Trial) -> Iterator[SolutionVariant]:
    """The author's other routes."""
    for number, calls in enumerate(trial.env.alternatives(), 1):
        yield variant("alternative", f"the author's alternative {number}", list(calls))


def _reorder(trial: Trial) -> Iterator[SolutionVariant]:
    """Neighbours that do not depend on each other, swapped."""
    known = set(words(trial.instance.messages))
    for position in range(len(trial.calls) - 2):
        first, second = trial.steps[position], trial.steps[position + 1]
        if could_know(second, known, trial.steps) and not _depends(trial, position):
            what = f"{format_call(second.call)} before {format_call(first.call)}"
            yield variant("reordered", what, move_call(trial.calls, position + 1, position))
        known |= words(first.observation)


def _depends(trial: Trial, position: int) -> bool:
    """Whether the call after `position` needs what the one at `position` did."""
    first, second = trial.steps[position], trial.steps[position + 1]
    if second.call.tool in ENDINGS:
        return True
    if first.changes and not first.event.written:
        return True  # The world changed something by itself, so a look-up before that differs from one after it.
    awaited = {name for c in trial.instance.rubric.criteria if c.id in second.met for name in c.after}
    if awaited & first.met:
        return True
    touched = {(c.table, c.key) for c in first.changes}
    shown = set(second.event.shown)
    return bool(touched & ({(c.table, c.key) for c in second.changes} | shown)) or bool(
        first.changes and set(second.event.named) & {key for _, key in touched}
    )


def _extra_reads(trial: Trial, stream: Stream) -> Iterator[SolutionVariant]:
    """Reads that nobody asked for, one that is refused, and one repeated."""
    reads = [t for t in trial.offered if not t.writes and t.name not in {*ENDINGS, trial.toolbox.prose_tool}]
    for _ in range(EXTRA_READS):
        call = legal_call(reads, trial.directory.ids, stream)
        position = stream.below(len(trial.calls))
        yield variant("extra read", f"and {format_call(call)} at {position}", insert_calls(trial.calls, position, call))
    once = next(own_refused_calls(trial, stream.split("refused")), None)
    if once is not None:
        what = f"and {format_call(once)}, which is refused"
        yield variant("extra read", what, insert_calls(trial.calls, len(trial.calls) - 1, *trial.said(once)))
    refused = ToolCall(tool=reads[0].name, arguments={"no_such_argument": 1})
    yield variant("extra read", "and a call that is refused", insert_calls(trial.calls, 0, refused))
    again = next((c for c in trial.calls if c.tool in {t.name for t in reads}), None)
    if again is not None:
        yield variant(
            "extra read", f"and {format_call(again)} again", insert_calls(trial.calls, len(trial.calls) - 1, again)
        )


def _named_columns(trial: Trial) -> Iterator[SolutionVariant]:
    """Every query of whole rows with all columns named: in one query, and in two that show half of them each."""
    if not any(_whole_query(call) for call in trial.calls):
        return
    for count in (1, 2):
        calls = [part for call in trial.calls for part in _in_parts(trial, call, count)]
        yield variant("named columns", f"all columns named, in {count} queries each", calls)


def _whole_query(call: ToolCall) -> bool:
    return call.tool == "query" and call.arguments.get("columns") is None


def _in_parts(trial: Trial, call: ToolCall, count: int) -> list[ToolCall]:
    if not _whole_query(call):
        return [call]
    names = [name for name in trial.instance.world.schema[str(call.arguments["table"])].columns if name != "id"]
    parts: list[Json] = [list[Json](names[first::count]) for first in range(count)]
    return [ToolCall(tool=call.tool, arguments={**call.arguments, "columns": part}) for part in parts if part]


def _looks(trial: Trial, step: OracleStep) -> bool:
    """Whether a call of the oracle's only looks something up: it changes nothing, says nothing and ends nothing."""
    return not step.changes and step.call.tool not in {*ENDINGS, trial.toolbox.prose_tool}


def _paraphrase(trial: Trial) -> Iterator[SolutionVariant]:
    """The same work, told in other words."""
    for text in PARAPHRASES:
        calls: list[ToolCall] = []
        told = 0
        for call in trial.calls:
            # Whoever says the same twice repeats themselves.
            worded = _in_other_words(trial, call, text if told == 0 else f"{text} ({told})")
            told += worded != call
            calls.append(worded)
        if tuple(calls) != trial.calls:
            yield variant("paraphrased", f"with the words {text!r}", calls)


def _in_other_words(trial: Trial, call: ToolCall, text: str) -> ToolCall:
    for place in places(call, trial.toolbox[call.tool], trial.directory):
        if place.prose:
            call = with_value(call, place.path, _reword(trial, str(place.value), text))
    return call


def _reword(trial: Trial, told: str, text: str) -> str:
    """Other words for what was told.

    A message that states an amount keeps it, since an agreement binds to it; so does one that names what it must name.
    """
    named = any(key in told for criterion in trial.instance.rubric.criteria for key in criterion.names)
    return f"{text} {told}" if named or stated_amounts(told) else text


def _batch(trial: Trial) -> Iterator[SolutionVariant]:
    """As many calls in one turn as an agent could make without waiting for an answer.

    Work never stands beside a read, nor beside a message that the user answers.
    """
    turns: list[tuple[ToolCall, ...]] = []
    known = set(words(trial.instance.messages))
    arriving: set[str] = set()
    answers = False
    for step in trial.steps:
        looks = _looks(trial, step)
        if turns and (looks or not answers) and could_know(step, known, trial.steps):
            turns[-1] = (*turns[-1], step.call)
        else:
            known |= arriving
            arriving = set()
            answers = False
            turns.append((step.call,))
        answers = answers or looks or bool(step.event.said)
        arriving |= words(step.observation)
    if len(turns) < len(trial.calls):
        yield SolutionVariant(kind="batched", what=f"in {len(turns)} turns", turns=tuple(turns))
