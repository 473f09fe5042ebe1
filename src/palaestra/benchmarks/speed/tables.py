"""A speed report as tables, to read and to paste."""

import rich.table
from rich import box

from palaestra.benchmarks.speed.figures import Memory, SpeedReport
from palaestra.benchmarks.table import Table


def report_table(report: SpeedReport) -> rich.table.Table:
    """The whole report for a terminal: its tables, one below the other."""
    grid = rich.table.Table(box=box.SIMPLE, show_header=False, show_edge=False)
    for table in speed_tables(report):
        grid.add_row(table.for_terminal())
    return grid


def speed_tables(report: SpeedReport) -> list[Table]:
    """The report's tables: times, ratios, memory."""
    return [times_table(report), ratios_table(report), memory_table(report.memory)]


def times_table(report: SpeedReport) -> Table:
    """How long things take."""
    return Table(
        title=f"What things cost in {report.env_id}, in microseconds",
        columns=("what", "mean", "p50", "p99", "count"),
        rows=tuple((t.name, _figure(t.mean), _figure(t.p50), _figure(t.p99), f"{t.count:,}") for t in report.timings),
        note=report.method,
    )


def ratios_table(report: SpeedReport) -> Table:
    """How that compares."""
    return Table(
        title="Ratios of means in this run",
        columns=("ratio", "of", "to", "times"),
        rows=tuple((r.name, r.of, r.to, f"{r.value:,.2f}") for r in report.ratios),
    )


def memory_table(memory: Memory) -> Table:
    """What a live environment weighs."""
    resident = "-" if memory.resident_bytes is None else f"{memory.resident_bytes:,.0f}"
    return Table(
        title="Memory of a live environment beyond what all share, in bytes",
        columns=("environments alive", "rows written by each", "tracemalloc", "growth of the process"),
        rows=((f"{memory.worlds:,}", f"{memory.written_rows:.1f}", f"{memory.traced_bytes:,.0f}", resident),),
    )


def _figure(microseconds: float) -> str:
    return f"{microseconds:,.0f}" if microseconds >= 1_000 else f"{microseconds:.2f}"
