"""A diagnosis as JSON: findings and all figures, without episodes."""

from dataclasses import fields
from typing import cast

import orjson

from palaestra.benchmarks.diagnosis.diagnosis import Diagnosis
from palaestra.benchmarks.diagnosis.findings import TrainingFinding, headline
from palaestra.records import JsonObject

_LEFT_OUT = frozenset({"examples"})


def diagnosis_document(diagnosis: Diagnosis, findings: list[TrainingFinding]) -> JsonObject:
    """The diagnosis as a JSON object: `summary`, `findings`, and the fields of `Diagnosis`."""
    figures = {one.name: getattr(diagnosis, one.name) for one in fields(diagnosis) if one.name not in _LEFT_OUT}
    document = {"summary": headline(diagnosis), "findings": findings, **figures}
    plain: JsonObject = orjson.loads(orjson.dumps(document, default=_plain))
    return plain


def _plain(value: object) -> object:
    """Convert a value that orjson does not support: a path to text, a set to a sorted list."""
    if isinstance(value, frozenset):
        return sorted(cast("frozenset[str]", value))
    return str(value)
