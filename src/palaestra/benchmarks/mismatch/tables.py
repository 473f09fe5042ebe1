"""Tables of the figures."""

from collections.abc import Sequence

from palaestra.benchmarks.mismatch.measure import MismatchFigures
from palaestra.table import Table


def mismatch_tables(figures: Sequence[MismatchFigures]) -> list[Table]:
    """Tables of the mismatch, the cost of equality, and the savings of keys and values in FP8 and of NVFP4."""
    tables = (_mismatch(figures), _prices(figures), _keys_and_values(figures), _adapters(figures))
    return [table for table in tables if table.rows]


def mismatch_markdown(figures: Sequence[MismatchFigures]) -> str:
    """The tables as a Markdown document."""
    parts = [
        part for table in mismatch_tables(figures) for part in (f"**{table.title}**", table.markdown(), table.note)
    ]
    return "\n\n".join(parts) + "\n"


def _mismatch(figures: Sequence[MismatchFigures]) -> Table:
    rows = tuple(
        (
            one.pair.name,
            f"{one.tokens:,}",
            _number(one.mismatch["mismatch/max"]),
            _number(one.mismatch["mismatch/mean"]),
            f"{one.mismatch['mismatch/zero_share']:.1%}",
            _number(one.mismatch["mismatch/kl"]),
        )
        for one in figures
    )
    return Table(
        title="Log-probabilities of the engine and of the learner",
        columns=("flow", "tokens", "max", "mean", "exactly 0", "KL"),
        rows=rows,
        note="max and mean: |log p(engine) - log p(learner)| of drawn tokens, in nats. KL: k3 estimate, in nats.",
    )


def _prices(figures: Sequence[MismatchFigures]) -> Table:
    free = {(one.pair.rollouts, one.pair.training): one for one in figures if not one.pair.invariant}
    rows: list[tuple[str, ...]] = []
    for one in figures:
        other = free.get((one.pair.rollouts, one.pair.training))
        if one.pair.invariant and one.pair.is_unified and other is not None:
            rows.append((one.pair.name, f"{one.draw_price(other):.2f}", f"{one.step_price(other):.2f}"))
    return Table(
        title="Price of the invariant mode",
        columns=("flow", "time to draw", "time of a training step"),
        rows=tuple(rows),
        note="Times the processor time of the free flow on equal work; medians over rounds of one run.",
    )


def _keys_and_values(figures: Sequence[MismatchFigures]) -> Table:
    found = {one.pair: one for one in figures}
    rows: list[tuple[str, ...]] = []
    for one in figures:
        other = found.get(one.pair.with_keys_and_values_as_states)
        if one.pair.is_unified and other is not None and other is not one:
            share = one.cache_bytes / other.cache_bytes
            rows.append((one.pair.name, f"{share:.3f}", f"{one.draw_price(other):.2f}", f"{one.step_price(other):.2f}"))
    return Table(
        title="Keys and values in FP8",
        columns=("flow", "bytes of the engine's pages", "time to draw", "time of a training step"),
        rows=tuple(rows),
        note="Times those of the same flow with keys and values as states are; times as above.",
    )


def _adapters(figures: Sequence[MismatchFigures]) -> Table:
    found = [one for one in figures if one.pair.training.adapters]
    rows = tuple(
        (
            one.pair.name,
            f"{one.weight_bytes:,}",
            f"{one.update_bytes:,}",
            f"{one.draw_price(found[0]):.2f}",
            f"{one.step_price(found[0]):.2f}",
        )
        for one in found
    )
    return Table(
        title="Adapters",
        columns=("flow", "bytes of the engine's weights", "bytes of an update", "time to draw", "time of a step"),
        rows=rows,
        note="Times those of the first row; times as above.",
    )


def _number(value: float) -> str:
    return f"{value:.1e}" if value else "0"
