"""Broken blueprints: each kind of mistake is reported with its line, the rule and what to do."""

from itertools import pairwise
from pathlib import Path

import pytest

from palaestra.envs.blueprints import load_world, read_blueprint
from palaestra.envs.blueprints.checking import check_blueprint
from palaestra.errors import BlueprintError

LIBRARY = Path("examples/blueprints/tool_library.yaml").read_text(encoding="utf-8")

# What is replaced in the tool library, by what, and what the report says. The line is that of the replaced text.
BROKEN = {
    "no YAML": ("id: tool-library", "id: [tool-library", "this is no YAML"),
    "a column of its own": ("team: lending", "  team: lending", "keys of one mapping begin in the same column"),
    "an alias": ("team: lending", "team: &t lending", "anchors and aliases are not read"),
    "a tag": ("team: lending", "team: !!python/name:os.system lending", "the tag"),
    "a key twice": ("team: lending", "id: lending", "stands twice"),
    "an unknown key": ("    prefix: LN-", "    prefx: LN-", "unknown key 'prefx'; did you mean 'prefix'"),
    "a missing key": ("    prefix: LN-\n", "", "`prefix` is missing; add it"),
    "a refusal without a plant": (
        "        plant: [{set: loan.extensions, to: rules.most_extensions}]\n",
        "",
        "`plant` is missing; add it, such as `plant: [{set: loan.extensions, to: rules.most_extensions}]`",
    ),
    "a wrong value": ("{tool: [1, 2]}", "{tool: many}", "'many'"),
    "a bad world id": ("id: tool-library", "id: Tool Library", "is no world id"),
    "an unknown team": ("team: lending", "team: lendign", "unknown team 'lendign'; did you mean 'lending'?"),
    "one team": ("teams: [lending, workshop]", "teams: [lending]", "a desk needs another team"),
    "unknown people": ("people: member", "people: membre", "unknown entity 'membre'; did you mean 'member'?"),
    "people without address": ("      email: {type: email}\n", "", "has no name and email"),
    "an unknown type": ("{type: ref member}", "{type: reff member}", "unknown type 'reff'"),
    "a reference to nothing": ("{type: ref member}", "{type: ref membre}", "unknown entity 'membre'"),
    "a choice of one": ("{type: choice good|worn, weights: [4, 1]}", "{type: choice good}", "at least two different"),
    "a bad name": ("      placed:", "      class:", "is no name"),
    "a taken prefix": ("    prefix: HD-", "    prefix: LN-", "'LN-' is taken by loan"),
    "a taken table": ("    plural: holds", "    plural: loans", "'loans' is taken by loan"),
    "rows without a number": ("    count: 30\n", "", "none or both of `count` and `per`"),
    "too many rows": ("    count: 30", "    count: 3000000", "an entity has 1 to 2000"),
    "numbers that are too large": ("between: [0, 3]", "between: [0, 99999999999]", "write numbers from"),
    "days that are too far": ("{type: date, days: [-20, -1]}", "{type: date, days: [-999999999, -1]}", "write numbers"),
    "a first id below 0": ("    count: 24", "    count: 24\n    first: -5", "the first id has a number from 0 on"),
    "too many tasks": ("team: lending", "instances: {train: 1000000}\nteam: lending", "lists 0 to 200 tasks"),
    "no range": ("{type: money, between: [0, 6000], step: 500}", "{type: money}", "it has no range"),
    "an empty range": ("between: [0, 3]", "between: [3, 0]", "the least is above the most"),
    "weights of another number": ("weights: [1, 3]}", "weights: [1]}", "give 2 weights"),
    "an entity without a reader": ("tools: [list tool]", "tools: []", "no tool reads it"),
    "an unknown reader": ("tools: [list tool]", "tools: [lists tool]", "unknown reading tool 'lists tool'"),
    "a rule without effect": (
        "  damage_percent: {value: 30",
        "  unused: {value: 1}\n  damage_percent: {value: 30",
        "nothing goes by it",
    ),
    "a rule that is not stated": ("at most {rules.most_extensions}", "at most twice, not", "no section states it"),
    "an own value instead": ("instead: [5, 10, 14]", "instead: [7]", "7 is the rule's own"),
    "an idle section": ("section: DMG-1", "section: EXT-1", "no request turns on it"),
    "an unknown section": ("section: EXT-2", "section: EXT-22", "unknown section 'EXT-22'; did you mean 'EXT-2'"),
    "a brace without a partner": ("{rules.extension_days} days.", "{rules.extension_days days.", "has no partner"),
    "an unknown rule": ("rules.most_extensions\n        shows", "rules.most\n        shows", "unknown rule 'most'"),
    "an unknown field": ("loan.extensions >= rules", "loan.extension >= rules", "did you mean 'extensions'?"),
    "types mixed": ("loan.extensions >= rules.most", "loan.due >= rules.most", "has no order with"),
    "no condition": ("when: loan.tool.state ==", "when: loan.tool.daily_fee + 1 #", "`when` is a condition"),
    "a call of Python": ('when: loan.tool.state == "good"', 'when: open("/etc/passwd")', "unknown function 'open'"),
    "a lambda": ('when: loan.tool.state == "good"', "when: (lambda x=1)(1)", "is no expression"),
    "an attribute of an object": ("to: rules.balance_limit + 500", "to: loan.__class__", "unknown field of loan"),
    "a choice that is none": ("to: good}", "to: god}", "unknown name 'god'"),
    "nothing planted": (
        "        plant: [{set: loan.tool.state, to: good}]\n",
        "        plant: []\n",
        "nothing is planted",
    ),
    "a row that may be missing": ("member: one(m", "member: first(m", "that may be missing, not a row of member"),
    "a new row without a field": (
        "    sets:\n      tool.daily_fee: fee\n",
        "    creates: [{entity: hold, fields: {tool: tool, member: one(m for m in members), status: waiting}}]\n",
        "a new row of hold lacks placed",
    ),
    "a field of another type": (
        "status: waiting\n        tells",
        "status: today\n        tells",
        "is a date, not one of",
    ),
    "an unknown action": ("- action: reduce_fee", "- action: reduce_fees", "unknown action 'reduce_fees'"),
    "an argument that is missing": (", fee: fee}", "}", "reduce_fee lacks fee"),
    "an action of a taken name": ("  reduce_fee:\n", "  get_loan:\n", "'get_loan' is a tool of loan"),
    "an action that changes nothing": ("    sets:\n      tool.daily_fee: fee\n", "", "it changes nothing"),
    "a reply without content": ("    tells: Done, it is extended.", "    tells: Done.", "write a sentence"),
    "a request that names nothing": (
        "      - Could I keep {loan.id} a little longer?",
        "      - Could I keep it a little longer?",
        "it does not name the loan",
    ),
    "tables within tables": (
        "when: loan.member.balance > rules.balance_limit",
        "when: any(any(any(a == b or b == c for a in loans) for b in loans) for c in loans)",
        "requests.extend-loan.refusals.2.when: `any(any(any(a == b or b == c for a in loans) for b in loans) for c in",
    ),
    "a plant that touches nothing": (
        "plant: [{set: loan.member.balance, to: rules.balance_limit + 500}]",
        "plant: [{set: loan.extensions, to: 0}]",
        "it changes nothing that `loan.member.balance > rules.balance_limit` goes by",
    ),
    "a condition twice": (
        "when: loan.member.balance > rules.balance_limit",
        "when: loan.extensions >= rules.most_extensions",
        "an earlier refusal has this condition",
    ),
    "more refusals than twins": ("team: lending", "instances: {train: 2}\nteam: lending", "3 refusals, and 2 refusal"),
    "an answer that cannot be read": (
        "answers: I mean {loan.id}.",
        "answers: I mean {loan.idd}.",
        "field of loan 'idd'",
    ),
    "a list where there is none": ("for h in loan.tool.holds)", "for h in loan.holds)", "unknown relation of loan"),
}


@pytest.mark.measured
@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_blueprint_is_reported_with_line_rule_and_fix(kind: str, tmp_path: Path) -> None:
    old, new, said = BROKEN[kind]
    assert old in LIBRARY, f"the tool library has no {old!r} any more"
    file = tmp_path / "broken.yaml"
    file.write_text(LIBRARY.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(BlueprintError) as caught:
        load_world(file)
    reports = [line for line in str(caught.value).splitlines() if said in line]
    assert reports, str(caught.value)
    line = reports[0].removeprefix(f"{file}:").split(":")[0]
    assert line.isdigit(), reports[0]
    assert ";" in reports[0], "a report says what to do"


def test_every_problem_is_reported_at_once() -> None:
    text = LIBRARY.replace("team: lending", "team: nobody", 1).replace("    prefix: HD-", "    prefix: LN-", 1)
    blueprint, places = read_blueprint(text)
    said = "\n".join(str(problem) for problem in check_blueprint(blueprint, places))
    assert "unknown team 'nobody'" in said
    assert "'LN-' is taken by loan" in said


def test_definitions_that_double_each_other_are_bounded() -> None:
    names = [f"d{number}" for number in range(30)]
    doubled = "".join(f"      {name}: {last} + {last}\n" for last, name in pairwise(names))
    text = LIBRARY.replace("    let:\n", f"    let:\n      d0: loan.extensions\n{doubled}", 1)
    said = [str(problem) for problem in check_blueprint(read_blueprint(text)[0])]
    assert any("requests.worn-tool.let.d17: `d16 + d16` takes up to 393215 steps" in one for one in said), said


def test_a_draw_is_bounded_over_the_rows_that_are_asked_about_and_stated() -> None:
    stated = "    states:\n" + "".join(f"      row{number}: {{type: ref loan}}\n" for number in range(4))
    text = LIBRARY.replace("  worn-tool:\n    level: 2\n", f"  worn-tool:\n    level: 2\n{stated}", 1)
    said = [str(problem) for problem in check_blueprint(read_blueprint(text)[0])]
    assert [one for one in said if "requests.worn-tool: a draw of it takes up to" in one], said


def test_lists_within_an_action_are_bounded() -> None:
    line = '      - {when: loan.status == "active", code: not_active, says: "{loan.id} is {loan.status}"}\n'
    said = [str(problem) for problem in check_blueprint(read_blueprint(LIBRARY.replace(line, line * 41, 1))[0])]
    assert said == ["tool-library: actions.extend_loan.requires: there are 41; leave at most 40"]


def test_rows_that_multiply_are_bounded_together() -> None:
    text = LIBRARY.replace("    count: 24", "    count: 2000", 1).replace("{member: [2, 3]}", "{member: [2, 20]}", 1)
    said = [str(problem) for problem in check_blueprint(read_blueprint(text)[0])]
    assert said[0] == (
        "tool-library: entities: up to 42090 rows; all entities have at most 20000 together, so lower `count` or `per`"
    )


def test_the_example_has_no_problem() -> None:
    assert check_blueprint(read_blueprint(LIBRARY)[0]) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x: " + "[" * 30 + "]" * 30, "deeper than 12 levels"),
        ("id: " + "x" * 300_000, "more than 262144 bytes"),
        ("- a\n- b\n", "a blueprint is a mapping"),
        ("a: &x [1]\nb: [*x, *x]\n", "anchors and aliases"),
    ],
)
def test_a_document_is_bounded(text: str, said: str) -> None:
    with pytest.raises(BlueprintError, match=said):
        read_blueprint(text)


@pytest.mark.parametrize(
    "expression",
    ["(" * 400 + "1" + ")" * 400, "1 + " * 150 + "1", "not " * 60 + "True", "loan.due " * 100, "9" * 400, "a" * 501],
)
def test_an_expression_is_bounded(expression: str) -> None:
    text = LIBRARY.replace('when: loan.tool.state == "good"', f'when: "{expression}"', 1)
    blueprint, places = read_blueprint(text)
    assert check_blueprint(blueprint, places)
