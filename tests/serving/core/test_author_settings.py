"""A key to play is told which of its settings needs another key, and nothing of the world."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from palaestra.errors import KeyScopeError
from palaestra.serving.access import Caller, KeyScope, expand_scopes
from palaestra.serving.core.author_settings import check_author_settings, check_split_choice
from palaestra.serving.core.items import CreateItem

PLAYER = Caller(key_id="5b78", owner="a", scopes=expand_scopes([KeyScope.PLAY]))
AUTHOR = Caller(key_id="5b79", owner="a", scopes=expand_scopes([KeyScope.AUTHOR]))
MAKE = "or make a key with `palaestra keys add FILE OWNER --scope author`"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (
            {"switches": {"split": "heldout"}},
            "split='heldout' needs a key of the scope 'author'; leave it out to play the",
        ),
        (
            {"switches": {"split": "no-such"}},
            "split='no-such' needs a key of the scope 'author'; leave it out to play the",
        ),
        (
            {"switches": {"noise": {"failures": 9}}},
            "noise={'failures': 9} needs a key of the scope 'author'; leave it out,",
        ),
        ({"view": "author"}, "view='author' needs a key of the scope 'author'; leave it out,"),
        (
            {"player": "b", "reward": False},
            "player='b', reward=False needs a key of the scope 'author'; leave them out,",
        ),
        ({"switches": {"split": "dev", "handbook": 2}}, "split='dev', handbook=2 needs"),
        ({"action_format": "python"}, "action_format='python' needs a key of the scope 'author'; leave it out,"),
    ],
)
def test_the_setting_that_needs_the_scope_is_named_with_the_way_out(asked: dict[str, Any], says: str) -> None:
    item = CreateItem(world="library", **asked)
    with pytest.raises(KeyScopeError) as raised:
        check_author_settings(PLAYER, item)
    assert str(raised.value).startswith(says)
    assert str(raised.value).endswith(MAKE)
    check_author_settings(AUTHOR, item)


def test_what_a_player_may_choose_needs_no_scope() -> None:
    check_author_settings(PLAYER, CreateItem(world="library", view="play", action_format="hermes", lease=9.0))


@pytest.mark.parametrize("player", ["a b", "", "nobody\n", "x" * 65])
def test_a_player_has_a_name_that_a_key_can_have(player: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(CreateItem).validate_python({"world": "library", "player": player})


def test_a_refusal_is_short_however_long_the_setting_is() -> None:
    with pytest.raises(KeyScopeError) as raised:
        check_author_settings(PLAYER, CreateItem(world="library", switches={"x" * 9_000: ["y" * 9_000] * 90}))
    assert len(str(raised.value)) < 500


def test_the_tasks_of_another_split_are_for_authors() -> None:
    with pytest.raises(KeyScopeError, match=r"^split='heldout' needs a key of the scope 'author'; leave it out to see"):
        check_split_choice(PLAYER, "heldout")
    check_split_choice(AUTHOR, "heldout")
