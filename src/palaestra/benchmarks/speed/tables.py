"""Tables of a speed report, for the terminal and as Markdown."""

import rich.table
from rich import box

from palaestra.benchmarks.speed.aims import AIMS, LIVE_BYTES, LIVE_WORLDS, judge_aim
from palaestra.benchmarks.speed.figures import SpeedReport
from palaestra.table import Table


def report_table(report: SpeedReport) -> rich.table.Table:
    """The whole report for a terminal: its tables, one below the other."""
    grid = rich.table.Table(box=box.SIMPLE, show_header=False, show_edge=False)
    for table in speed_tables(report):
        grid.add_row(table.for_terminal())
    return grid


def speed_tables(report: SpeedReport) -> list[Table]:
    """The report's tables: times, comparisons, vectors, memory."""
    return [times_table(report), comparisons_table(report), vectors_table(report), memory_table(report)]


def speed_markdown(report: SpeedReport) -> str:
    """The report's tables as a Markdown document."""
    machine = ", ".join(f"{key}: {value}" for key, value in report.machine.items())
    lines = [f"Measured by `palaestra bench env` on one machine ({machine})."]
    for table in speed_tables(report):
        lines += [f"**{table.title}**", table.markdown(), *([table.note] if table.note else [])]
    return "\n\n".join(lines) + "\n"


def times_table(report: SpeedReport) -> Table:
    """The table of durations beside their targets."""
    return Table(
        title=f"What things cost in {report.env_id}, in microseconds",
        columns=("what", "mean", "p50", "p99", "count", "aim at most"),
        rows=tuple(
            (
                t.name,
                figure(t.mean),
                figure(t.p50),
                figure(t.p99),
                f"{t.count:,}",
                judge_aim(t.mean, AIMS[t.name]) if t.name in AIMS else "",
            )
            for t in report.timings
        ),
        note=report.method,
    )


def comparisons_table(report: SpeedReport) -> Table:
    """The table of other implementations and peers, by means in microseconds, with reasons for missing figures."""
    return Table(
        title="The same work in other ways, in microseconds",
        columns=("what", "mean", "compared with", "its mean", "times", "by medians"),
        rows=(
            *(
                (
                    r.name,
                    figure(report.timing(r.of).mean),
                    r.to,
                    figure(report.timing(r.to).mean),
                    f"{r.means:,.1f}",
                    f"{r.medians:,.1f}",
                )
                for r in report.ratios
            ),
            *((u.section, "-", u.why, "-", "-", "-") for u in report.unmeasured),
        ),
        note="How many times as long by means, and by medians. Peers play tasks of their own: theirs compare kinds of "
        "work, and not the same calls.",
    )


def vectors_table(report: SpeedReport) -> Table:
    """The table of vectors of environments and their speed."""
    return Table(
        title="Vectors of environments from gymnasium.make_vec, resets included",
        columns=("how", "processes", "environments", "steps a second", "times one process"),
        rows=tuple(
            (t.name, str(t.processes), str(t.envs), f"{t.steps_per_second:,.0f}", f"{t.scaling:.2f}")
            for t in report.throughputs
        ),
        note=f"{report.machine['cores']} cores; the fastest of several passes.",
    )


def memory_table(report: SpeedReport) -> Table:
    """The table of the memory of a live world."""
    memory = report.memory
    resident = "-" if memory.resident_bytes is None else f"{memory.resident_bytes:,.0f}"
    traced = f"{memory.traced_bytes:,.0f}"
    ours = ("an environment here", f"{memory.worlds:,}", f"{memory.written_rows:.1f}", traced, resident)
    aim = f"{judge_aim(memory.traced_bytes, LIVE_BYTES)}, of {LIVE_WORLDS:,} alive"
    return Table(
        title="Memory of a live world beyond what all share, in bytes",
        columns=(
            "what",
            "alive at once",
            "rows written by each",
            "tracemalloc",
            "growth of the process",
            "aim at most",
        ),
        rows=(
            (*ours, aim),
            *((f"{p.name}, a process", "1", "-", "-", f"{p.resident_bytes:,.0f}", "") for p in report.processes),
        ),
    )


def figure(microseconds: float) -> str:
    """A time in microseconds as tables show it."""
    return f"{microseconds:,.0f}" if microseconds >= 1_000 else f"{microseconds:.2f}"
