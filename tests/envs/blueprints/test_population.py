"""Populations have the shares that their document states, and values that are there for some rows alone."""

from collections import Counter
from dataclasses import replace
from typing import Any

from palaestra.envs.blueprints import FieldSpec, check_blueprint, compile_blueprint
from palaestra.envs.state import Overlay
from worlds.tool_library import SEED, blueprint, compiled, state


def test_choices_and_references_have_the_stated_shares() -> None:
    rows, kinds = state(), compiled().kinds
    tools: list[Any] = rows.find(kinds["tool"])
    assert Counter(tool.state for tool in tools) == {"good": 24, "worn": 6}
    loans: list[Any] = rows.find(kinds["loan"])
    each = Counter(loan.tool_id for loan in loans)
    assert max(each.values()) - min(each[tool.id] for tool in tools) <= 1


def test_a_field_has_a_value_where_another_field_says_so() -> None:
    whole = blueprint()
    loan = whole.entities["loan"]
    back = FieldSpec(type="date?", value="loan.due - 2 if loan.status == 'returned' else None")
    entities = {**whole.entities, "loan": replace(loan, fields={**loan.fields, "back": back})}
    changed = replace(
        whole, entities=entities, requests={name: whole.requests[name] for name in ("extend-loan", "worn-tool")}
    )
    assert [str(one) for one in check_blueprint(changed) if "back" in str(one)] == []
    made = compile_blueprint(changed)
    loans: list[Any] = Overlay(made.world.base(SEED)).find(made.kinds["loan"])
    assert {loan.status for loan in loans} == {"active", "returned"}
    assert all((loan.back is not None) is (loan.status == "returned") for loan in loans)


def test_a_value_or_none_is_refused_where_a_field_is_never_missing() -> None:
    whole = blueprint()
    loan = whole.entities["loan"]
    due = FieldSpec(type="date", value="loan.started + 21 if loan.status == 'active' else None")
    changed = replace(whole, entities={**whole.entities, "loan": replace(loan, fields={**loan.fields, "due": due})})
    said = [str(one) for one in check_blueprint(changed)]
    assert any("entities.loan.fields.due.value: " in one and "that may be missing, not a date" in one for one in said)
