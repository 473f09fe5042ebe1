"""What no request uses is left out of a blueprint, and nothing else."""

from dataclasses import replace

from palaestra.envs.blueprints import Blueprint, check_blueprint
from palaestra.envs.blueprints.blueprint import Creation
from palaestra.envs.synthesis.pruning import prune_blueprint
from palaestra.envs.synthesis.used_tools import used_tools
from worlds.tool_library import blueprint


def test_what_everything_uses_is_left_as_it_is() -> None:
    assert prune_blueprint(blueprint()) == blueprint()


def test_a_condition_on_which_rows_can_be_asked_about_is_looked_up_by_no_solution() -> None:
    whole = blueprint()
    which = whole.requests["which-loan"]
    assert "loan.member.loans" in which.where
    own = tuple(one for one in which.refusals if "loan.member.loans" not in one.when)
    pruned = prune_blueprint(replace(whole, requests={**whole.requests, "which-loan": replace(which, refusals=own)}))
    assert pruned.entities["loan"].tools == ("get",)


def test_an_entity_that_no_condition_reads_goes_with_the_fields_that_name_it() -> None:
    pruned = prune_blueprint(_without_tools_of_loans(blueprint()))
    assert check_blueprint(pruned) == []
    assert list(pruned.entities) == ["member", "loan"]
    assert "tool" not in pruned.entities["loan"].fields
    assert [rule for rule in pruned.rules if rule.startswith("damage")] == []


def test_an_entity_of_rows_that_an_action_makes_stays_without_a_tool() -> None:
    whole = _without_tools_of_loans(blueprint())
    values = {"tool": "loan.tool", "member": "loan.member", "placed": "today", "status": "served"}
    extend = replace(whole.actions["extend_loan"], creates=(Creation(entity="hold", fields=values),))
    pruned = prune_blueprint(replace(whole, actions={"extend_loan": extend}))
    assert check_blueprint(pruned) == []
    assert {entity: spec.tools for entity, spec in pruned.entities.items() if not spec.tools} == {
        "tool": (),
        "hold": (),
    }


def test_a_field_by_which_rows_are_counted_stays() -> None:
    whole = _without_tools_of_loans(blueprint())
    loan = whole.entities["loan"]
    counted = replace(loan, per={"tool": (1, 2)})
    pruned = prune_blueprint(replace(whole, entities={**whole.entities, "loan": counted}))
    assert check_blueprint(pruned) == []
    assert "tool" in pruned.entities["loan"].fields
    assert pruned.entities["tool"].tools == ()


def test_rows_that_a_list_has_shown_are_not_got_again() -> None:
    listed, own = "any(x.status == 'returned' for x in asker.loans)", "loan.extensions >= rules.most_extensions"
    assert _tools_of_loans(listed, own) == {"list member"}
    assert _tools_of_loans(own, listed) == {"get", "list member"}
    assert _tools_of_loans(f"asker.tier == 'plus' and {listed}", own) == {"get", "list member"}, "it may not be listed"


def test_the_row_of_a_set_is_known_by_its_list() -> None:
    assert _tools_of_loans("first(x for x in asker.loans).due < today") == {"list member"}
    assert _tools_of_loans("loan.tool.state == 'good'") == {"get"}


def test_the_row_that_shows_a_refusal_is_looked_at_where_its_condition_is_not_about_it() -> None:
    whole = blueprint()
    request = whole.requests["extend-loan"]
    shown = replace(request.refusals[0], shows="loan.tool")
    used = used_tools(replace(whole, requests={"extend-loan": replace(request, refusals=(shown,))}))
    assert ("tool", "get") in used
    own = replace(request, refusals=request.refusals[:1])
    assert ("tool", "get") not in used_tools(replace(whole, requests={"extend-loan": own}))


def _without_tools_of_loans(whole: Blueprint) -> Blueprint:
    """The blueprint without what asks about the tool of a loan."""
    request = whole.requests["extend-loan"]
    refusals = tuple(one for one in request.refusals if one.section != "EXT-2")
    return replace(whole, requests={"extend-loan": replace(request, refusals=refusals)})


def _tools_of_loans(*conditions: str) -> set[str]:
    """The tools of loans that solutions use where these conditions refuse a request about a loan."""
    whole = blueprint()
    request = whole.requests["extend-loan"]
    refusals = tuple(replace(request.refusals[0], when=text) for text in conditions)
    asked = replace(request, refusals=refusals)
    used = used_tools(replace(whole, requests={"extend-loan": asked}))
    return {tool for entity, tool in used if entity == "loan"}
