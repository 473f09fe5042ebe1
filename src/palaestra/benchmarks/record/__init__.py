"""The record of results in SQL: runs, episodes, scores, verdicts, proofs and training curves; export is byte-exact."""

from palaestra.benchmarks.record.database import RecordDatabase
from palaestra.benchmarks.record.exporting import export_run
from palaestra.benchmarks.record.following import follow, import_sentence
from palaestra.benchmarks.record.importing import ImportSummary, import_run, remove_run
from palaestra.benchmarks.record.queries import EpisodeFilter, EpisodeSummary, RunSummary, find_episodes, run_summaries
from palaestra.benchmarks.record.schema import EMPTY, REVISIONS, check_schema, migrate, prepare
from palaestra.benchmarks.record.sources import FileRole, RunKind, SourceRun, find_sources

__all__ = [
    "EMPTY",
    "REVISIONS",
    "EpisodeFilter",
    "EpisodeSummary",
    "FileRole",
    "ImportSummary",
    "RecordDatabase",
    "RunKind",
    "RunSummary",
    "SourceRun",
    "check_schema",
    "export_run",
    "find_episodes",
    "find_sources",
    "follow",
    "import_run",
    "import_sentence",
    "migrate",
    "prepare",
    "remove_run",
    "run_summaries",
]
