"""The table of a report on served steps."""

from palaestra.benchmarks.speed.served.figures import SampleRange, ServedReport
from palaestra.table import Table


def served_table(report: ServedReport) -> Table:
    """Make a table with the median and the range over rounds of each row."""
    rows = tuple(
        (
            row.name,
            str(row.workers),
            f"{row.sessions:,}",
            f"{row.batch:,}",
            _write(row.clock_rate, ",.0f"),
            _write(row.processor_rate, ",.0f"),
            _write(row.session_bytes, ",.0f", unit=1 / 1024),
            _write(row.peer_ratio, ".3g"),
        )
        for row in report.rows()
    )
    absent = tuple((name, *[""] * 3, "not run", *[""] * 3) for name in report.absent)
    notes = [
        (
            f"Median (range) of {report.scale.rounds} rounds. Processor: the server and its processes. "
            "Ratio: by the clock, to the fastest peer of the same round."
        ),
        *(f"{name}: {reason}." for name, reason in report.absent.items()),
    ]
    columns = ("steps", "workers", "sessions", "batch", "steps/s, clock", "steps/s, processor", "KiB/session", "ratio")
    return Table(title="Served steps", columns=columns, rows=(*rows, *absent), note=" ".join(notes))


def _write(one: SampleRange | None, form: str, *, unit: float = 1.0) -> str:
    if one is None:
        return ""
    low, median, high = (format(value * unit, form) for value in (one.low, one.median, one.high))
    return f"{median} ({low}-{high})"
