"""Every figure of an evaluation as plain data; the same results give the same document, to the last digit."""

from collections.abc import Mapping

import orjson

from palaestra.benchmarks.evaluation.metrics import EvaluationFigures
from palaestra.benchmarks.evaluation.report.findings import Findings, findings
from palaestra.benchmarks.evaluation.results import Results
from palaestra.benchmarks.statistics import FEWEST
from palaestra.records import Json, JsonObject


def report_json(results: Results) -> JsonObject:
    """The whole report for programs, without wall time and without traces of the machine."""
    return document_of(findings(results))


def document_of(found: Findings) -> JsonObject:
    """The same, from computed figures."""
    results = found.results
    suite = results.suite
    document: dict[str, object] = {
        "agent": results.agent,
        "suite": {"name": suite.name, "title": suite.title, "notes": suite.notes, "known_bad": dict(suite.known_bad)},
        "samples": results.samples,
        "seed": results.seed,
        "playing": dict(results.settings.playing),
        "versions": dict(results.settings.versions),
        "prices": {"read": results.price_in, "written": results.price_out},
        "episodes": {"played": len(results.outcomes), "expected": results.expected_episodes},
        "units": {
            "share": "percent",
            "interval": f"95 %, over the unit that is named; values of units where there are fewer than {FEWEST}",
            "prices": "for a million tokens",
        },
        "overall": _figures(found.overall),
        "cells": [
            {
                "id": cell.id,
                "label": cell.label,
                "env_id": cell.env_id,
                "switches": dict(cell.switches),
                "split": cell.split,
                "unit": cell.unit,
                "tasks": len(cell.tasks),
                **_figures(found.cells[cell.id]),
            }
            for cell in found.played_cells
        ],
        "families": dict(found.families),
        "ladders": [
            {"axis": ladder.axis, "title": ladder.title, "note": ladder.note, "rungs": found.ladders[ladder.axis]}
            for ladder in suite.ladders
        ],
        "splits": found.splits,
    }
    # Through bytes and back, so that the result is plain JSON without records.
    plain: dict[str, Json] = orjson.loads(orjson.dumps(document, option=orjson.OPT_NON_STR_KEYS))
    return plain


def _figures(own: EvaluationFigures) -> dict[str, object]:
    return {
        "scores": own.scores,
        "without_known_bad": own.sound,
        "passes": [{"k": one.k, "tasks": one.tasks, "pass@k": one.any, "pass^k": one.all} for one in own.passes],
        "effort": own.effort,
        "ends": _plain(own.ends),
        "gave_up": own.gave_up,
        "out_of_time": own.out_of_time,
        "criteria": _plain(own.criteria),
        "faults": _plain(own.faults),
        "troubles": _plain(own.troubles),
        **({} if own.attacks is None else {"attacks": own.attacks}),
    }


def _plain(named: Mapping[str, object]) -> dict[str, object]:
    return dict(named)
