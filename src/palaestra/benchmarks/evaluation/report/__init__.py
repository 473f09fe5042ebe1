"""Reports of evaluations: tables for a terminal, figures as JSON, Markdown to paste, a page, plots."""

from palaestra.benchmarks.evaluation.report.comparison import (
    comparison_markdown,
    comparison_page,
    comparison_sentences,
    comparison_table,
)
from palaestra.benchmarks.evaluation.report.document import report_json
from palaestra.benchmarks.evaluation.report.page import report_markdown, report_page, write_report
from palaestra.benchmarks.evaluation.report.plots import ladder_png
from palaestra.benchmarks.evaluation.report.tables import summary_tables

__all__ = [
    "comparison_markdown",
    "comparison_page",
    "comparison_sentences",
    "comparison_table",
    "ladder_png",
    "report_json",
    "report_markdown",
    "report_page",
    "summary_tables",
    "write_report",
]
