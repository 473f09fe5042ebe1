"""Tables of the checks, for the terminal and as Markdown."""

from palaestra.benchmarks.gpu.contact import ContactReport
from palaestra.benchmarks.gpu.figures import CheckResult, ContactFigure
from palaestra.table import Table, tables_markdown


def contact_tables(report: ContactReport) -> list[Table]:
    """A table of passed and failed checks, then a table of figures for each check."""
    return [_summary(report), *(_figures(result) for result in report.results if result.figures)]


def contact_markdown(report: ContactReport) -> str:
    """The tables as a Markdown document, with the machine first."""
    facts = tuple((key, str(value)) for key, value in report.machine.items() if value != "")
    machine = Table(title="Machine", columns=("machine", "value"), rows=facts)
    return tables_markdown([machine, *contact_tables(report)])


def _summary(report: ContactReport) -> Table:
    return Table(
        title="Checks",
        columns=("check", "result", "seconds"),
        rows=tuple((one.name, _describe_result(one), f"{one.seconds:.0f}") for one in report.results),
        note="Each check runs in a process of its own, whose start is part of its seconds.",
    )


def _describe_result(result: CheckResult) -> str:
    if result.error:
        return f"error: {result.error.strip().splitlines()[-1]}"
    wrong = [one.name for one in result.figures if not one.within]
    return "passed" if not wrong else f"out of bounds: {', '.join(wrong)}"


def _figures(result: CheckResult) -> Table:
    return Table(
        title=result.name,
        columns=("figure", "value", "unit", "bound"),
        rows=tuple((one.name, _number(one.value), one.unit, _describe_bounds(one)) for one in result.figures),
    )


def _describe_bounds(figure: ContactFigure) -> str:
    words = [
        f"{word} {_number(bound)}"
        for word, bound in (("at least", figure.at_least), ("at most", figure.at_most))
        if bound is not None
    ]
    return " and ".join(words) + (", missed" if not figure.within else "") if words else ""


def _number(value: float) -> str:
    if value and abs(value) < 0.01:
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
