"""Tables of a training report, for the terminal and as Markdown."""

from palaestra.benchmarks.speed.training.figures import SpeedComparison, SpeedSection, TrainingReport, WorkRate
from palaestra.table import Table


def training_tables(report: TrainingReport) -> list[Table]:
    """Two tables for each piece of work: the rates of all contestants, and their comparisons."""
    return [table for section in report.sections for table in (_rates(section), _comparisons(section)) if table.rows]


def training_markdown(report: TrainingReport) -> str:
    """The report's tables as a Markdown document."""
    facts = tuple((key, str(value)) for key, value in report.machine.items() if value != "")
    machine = Table(title="Machine", columns=("machine", "value"), rows=facts)
    lines = [f"Measured by `{report.command}` on one machine:", machine.markdown()]
    for table in training_tables(report):
        lines += [f"**{table.title}**", table.markdown(), *([table.note] if table.note else [])]
    return "\n\n".join(lines) + "\n"


def _rates(section: SpeedSection) -> Table:
    columns: tuple[str, ...] = ("who", f"{section.unit} a second", "slowest round", "fastest round")
    rows: list[tuple[str, ...]] = [_rate(rate) for rate in section.rates]
    if any(rate.limit is not None for rate in section.rates):
        columns += ("the products' limit", "share of it")
        rows = [(*row, *_limit(rate)) for row, rate in zip(rows, section.rates, strict=True)]
    if any(rate.per_processor_second is not None for rate in section.rates):
        columns += (f"{section.unit} a processor second",)
        rows = [(*row, _per_processor_second(rate)) for row, rate in zip(rows, section.rates, strict=True)]
    missing = [f"{one.section}: {one.why}" for one in section.unmeasured]
    return Table(title=section.title, columns=columns, rows=tuple(rows), note=" ".join([section.note, *missing]))


def _rate(rate: WorkRate) -> tuple[str, ...]:
    return (rate.name, figure(rate.per_second), figure(min(rate.rounds)), figure(max(rate.rounds)))


def _limit(rate: WorkRate) -> tuple[str, str]:
    return ("-", "-") if rate.limit is None else (figure(rate.limit), f"{rate.per_second / rate.limit:.0%}")


def _per_processor_second(rate: WorkRate) -> str:
    return "-" if rate.per_processor_second is None else figure(rate.per_processor_second)


def _comparisons(section: SpeedSection) -> Table:
    return Table(
        title=f"{section.title}: compared",
        columns=("what", "figure", "counts", "aim at least"),
        rows=tuple((c.name, figure(c.value), c.unit, _aim(c)) for c in section.comparisons),
    )


def _aim(comparison: SpeedComparison) -> str:
    if comparison.at_least is None:
        return ""
    return f"{comparison.at_least:g}, {'met' if comparison.met else 'not met'}"


def figure(value: float) -> str:
    """A number with about three digits."""
    if value and abs(value) < 0.01:
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"
