"""Handbook variants, handbooks as one text, and refusals: properties over seeds and numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.envs import instantiate, kit
from palaestra.envs.world import ALL_RULES_FROM, ONE_RULE_FROM
from palaestra.errors import DefinitionError
from worlds.inn import WORLD, Rules, cancel

CHANGES = {"cancel_days": (2, 5, 7), "most_nights": (7, 12)}
VARIANTS = kit.HandbookVariants(stream="inn-rules", own=Rules(), changes=CHANGES)
SEEDS, NUMBERS = st.integers(0, 9_999), st.integers(1, ALL_RULES_FROM + 1_000)


def changed(rules: Rules) -> list[str]:
    return [name for name in CHANGES if getattr(rules, name) != getattr(VARIANTS.own, name)]


@given(seed=st.integers(0, kit.CHANGED_FROM - 1))
def test_handbook_0_has_the_own_rules_below_the_changed_seeds(seed: int) -> None:
    assert VARIANTS(seed, 0) is VARIANTS.own


@given(seed=st.integers(kit.CHANGED_FROM, 9_999))
def test_no_changed_seed_goes_by_the_own_rules(seed: int) -> None:
    assert changed(VARIANTS(seed, 0))


@given(seed=SEEDS, number=NUMBERS)
def test_a_numbered_handbook_is_pure_and_changes_as_many_rules_as_its_number_says(seed: int, number: int) -> None:
    rules = VARIANTS(seed, number)
    assert rules == VARIANTS(seed, number)
    assert all(getattr(rules, name) in CHANGES[name] for name in changed(rules))
    if number >= ALL_RULES_FROM:
        assert changed(rules) == list(CHANGES)
    elif number >= ONE_RULE_FROM:
        assert len(changed(rules)) == 1
    else:
        assert changed(rules)


@pytest.mark.parametrize("name", CHANGES)
def test_one_rule_is_changed_alone(name: str) -> None:
    assert changed(VARIANTS.one_changed(name)) == [name]


def test_a_change_of_no_rule_is_an_error_with_the_near_one() -> None:
    with pytest.raises(DefinitionError, match="did you mean 'cancel_days'"):
        kit.HandbookVariants(stream="s", own=Rules(), changes={"cancel_day": (1,)})


@pytest.mark.parametrize("values", [(), (5, 3)])
def test_a_change_to_nothing_or_to_the_own_value_is_an_error(values: tuple[int, ...]) -> None:
    with pytest.raises(DefinitionError, match="none of which is the rule's own, 3"):
        kit.HandbookVariants(stream="s", own=Rules(), changes={"cancel_days": values})


TEXT = st.text(st.sampled_from("abc dé.,"), min_size=1, max_size=30).map(lambda text: " ".join(text.split()) or "x")


@given(parts=st.lists(st.tuples(TEXT, st.lists(TEXT, min_size=1, max_size=3)), min_size=1, max_size=5))
def test_a_handbook_in_one_text_gives_its_sections_back(parts: list[tuple[str, list[str]]]) -> None:
    sections = [kit.section(f"S-{n}", title, *paragraphs) for n, (title, paragraphs) in enumerate(parts)]
    text = "\n\n".join(f"## {section.id} {section.title}\n{section.body}" for section in sections)
    assert kit.parse_sections(text) == sections


@pytest.mark.parametrize("text", ["", "Preface\n## A-1 Title\nBody"])
def test_text_before_the_first_heading_is_an_error(text: str) -> None:
    with pytest.raises(DefinitionError, match="a handbook begins with a heading"):
        kit.parse_sections(text)


@pytest.mark.parametrize("text", ["## A-1\nBody", "## A-1 Title", "## A-1 Title\n\n## A-2 Title\nBody"])
def test_a_section_without_title_or_text_is_an_error(text: str) -> None:
    with pytest.raises(DefinitionError, match=r"handbook section .*: write '## NUMBER Title', and text below it"):
        kit.parse_sections(text)


@pytest.mark.parametrize("index", range(8))
def test_a_twin_has_the_same_request_and_refuses_it_by_the_section(index: int) -> None:
    task, twin = instantiate(WORLD, cancel, index), instantiate(WORLD, cancel.twins(), index)
    assert [m for m in twin.messages if m["role"] == "user"] == [m for m in task.messages if m["role"] == "user"]
    assert {c.tool for c in task.oracle} - {c.tool for c in twin.oracle} == {"cancel_booking", "resolve_case"}
    (decline,) = (c for c in twin.oracle if c.tool == "decline_request")
    assert decline.arguments["policy_id"] == "CNL-1"
    assert [c.id for c in twin.rubric.specs][:4] == ["saw-booking", "saw-account", "read-CNL-1", "declined"]


@given(number=st.integers(0, 12))
def test_words_for_numbers(number: int) -> None:
    assert kit.count(number, "day") == ("1 day" if number == 1 else f"{number} days")
    assert kit.amount(100 * number + 5) == f"EUR {number}.05"
