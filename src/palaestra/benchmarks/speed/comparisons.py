"""The pairs of timings that are compared, with readable names."""

from collections.abc import Iterator, Sequence

from palaestra.benchmarks.speed.code_actions import BY_CODE, BY_JSON
from palaestra.benchmarks.speed.copies import WRITES, timing_name
from palaestra.benchmarks.speed.figures import TimeRatio, Timing, ratio

_HERE = "the server's tasks here"

_PAIRS = (
    ("our step over the bare function of its tool", "step", "bare function"),
    ("a tool's function on plain dictionaries", "function, plain dictionaries", "function, overlay"),
    ("a tool's function through the SQL projection", "function, SQL projection", "function, overlay"),
    ("a row read through the SQL projection", "point read, SQL projection", "point read, overlay"),
    ("beginning an episode by copying plain dictionaries", "beginning, plain dictionaries", "reset, warm"),
    ("beginning an episode by filling an SQL database", "beginning, SQL projection", "reset, warm"),
    ("a reset by copy.deepcopy of the rows", "copy.deepcopy of the rows", "reset, warm"),
    ("a reset by pickle.loads of the rows", "pickle.loads of the rows", "reset, warm"),
    ("a fork by copy.deepcopy of the rows", "copy.deepcopy of the rows", timing_name("fork", WRITES)),
    ("a call by code in a sandbox", BY_CODE, BY_JSON),
    ("a step through an AWM-shaped server", "step, AWM-shaped server", f"step, {_HERE}"),
    ("a reset of an AWM-shaped server", "reset, AWM-shaped server", f"reset, {_HERE}"),
    ("a step of tau2 retail, called directly", "step, tau2 retail, get_response", "step"),
    ("a reset of tau2 retail, called directly", "reset, tau2 retail, get_response", "reset, warm"),
    ("a step of tau2 through its own gym wrapper", "step, tau2 mock, its gym wrapper", "step"),
    ("a reset of tau2 through its own gym wrapper", "reset, tau2 mock, its gym wrapper", "reset, warm"),
    ("a tool call of verifiers' ToolEnv", "step, verifiers ToolEnv", "step"),
    ("a rollout's beginning in verifiers' ToolEnv", "reset, verifiers ToolEnv", "reset, warm"),
)


def ratios(timings: Sequence[Timing]) -> tuple[TimeRatio, ...]:
    """All comparisons whose two timings were measured."""
    return tuple(_ratios(timings))


def _ratios(timings: Sequence[Timing]) -> Iterator[TimeRatio]:
    measured = {timing.name for timing in timings}
    for name, of, to in _PAIRS:
        if {of, to} <= measured:
            yield ratio(name, timings, of, to)
