"""The acts of the browser as a benchmark's tools."""

from collections.abc import Mapping
from typing import Any

from palaestra.benchmarks.external.protocol import WireResult, answer_result, refusal_result, tool
from palaestra.browser.acts import ACTS, ActRefused, Acts

BROWSER_TOOLS = tuple(tool(name, description, arguments) for name, (description, arguments) in ACTS.items())
"""Their schemas. Any: JSON Schema."""


def answer_act(acts: Acts, name: str, arguments: Mapping[str, Any]) -> WireResult:
    """Do an act; answer with an error if it cannot be done."""
    try:
        return answer_result(acts.act(name, arguments))
    except ActRefused as refusal:
        return refusal_result(str(refusal), refusal.error)
