"""Variation of pages: other looks, the same ids, rows and points."""

import pickle
import re
from typing import Any

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv
from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.lexicon import LANGUAGES, SYNONYMS
from palaestra.envs.surfaces.pages.settings import PageSettings
from palaestra.envs.surfaces.pages.variation import (
    FAMILIES,
    HELD_OUT_FAMILIES,
    TRAINING_FAMILIES,
    PageVariation,
    draw_families,
    translate_label,
)
from palaestra.errors import CapabilityError, TaskError, UnknownNameError

STOREFRONT = "palaestra/Storefront-v0"
TASKS = tuple(
    f"storefront/{family}/5000"
    for family in ("change-address", "fix-build", "refund-over-limit", "decline-late-return")
)
SEEDS = (0, 1, 2)
PAGES = ("/", "/orders", "/customers?search=a", "/do/issue_refund", "/do/send_internal_message", "/products")


def make_env(variation: int | str | None, **switches: Any) -> ToolEnv:
    pages = None if variation is None else {"variation": variation}
    env = gym.make(STOREFRONT, surface="pages", surface_settings=pages, **switches)
    assert isinstance(env, ToolEnv)
    return env


def begin_episode(variation: int | str | None, task: str = TASKS[0]) -> ToolEnv:
    env = make_env(variation)
    env.reset(seed=0, options={"task": task})
    return env


def open_page(env: ToolEnv, url: str) -> str:
    return str(env.step({"tool": "goto", "arguments": {"url": url}})[0][-1]["content"])


def ids_of(env: ToolEnv) -> set[str]:
    browser = env.episode.surface
    assert isinstance(browser, PageBrowser)
    return {element.id for element in browser.page(env.episode.state).walk() if element.id}


def final_rows(task: str, variation: int | str | None) -> str:
    env, info = begin_episode(variation, task), dict[str, Any]()
    for call in env.oracle():
        info = env.step({"tool": call.tool, "arguments": dict(call.arguments)})[4]
    assert info["score"].passed
    assert info["score"].points == info["score"].total
    written = repr([(change.table, change.key, change.after) for change in env.changes])
    return re.sub(r"datetime\.datetime\([^)]*\)", "moment", written)  # the number of steps moves the clock


@pytest.mark.parametrize("task", TASKS)
def test_oracles_get_every_point_and_the_same_rows_under_every_variation(task: str) -> None:
    plain = final_rows(task, None)
    variations: list[int | str] = [*FAMILIES, *SEEDS]
    assert {final_rows(task, variation) for variation in variations} == {plain}


@pytest.mark.parametrize("family", sorted(FAMILIES.keys() - {"wizard", "short-lists", "long-lists"}))
def test_ids_do_not_change(family: str) -> None:
    plain, varied = begin_episode(None), begin_episode(family)
    for url in PAGES:
        open_page(plain, url)
        open_page(varied, url)
        assert ids_of(plain) == ids_of(varied)


@pytest.mark.parametrize("family", sorted(FAMILIES.keys() - {"dark", "contrast", "icons"}))
def test_every_family_changes_some_page_of_the_text(family: str) -> None:
    plain, varied = begin_episode(None), begin_episode(family)
    assert any(open_page(plain, url) != open_page(varied, url) for url in PAGES)


def test_a_seed_combines_families_of_training_alone_and_seeds_differ() -> None:
    drawn = {seed: draw_families(seed) for seed in range(60)}
    assert {name for names in drawn.values() for name in names} == set(TRAINING_FAMILIES)
    assert len(set(drawn.values())) > 30
    for seed in drawn:
        made_of = PageVariation.of(seed)
        assert (made_of.cards, made_of.wizard, made_of.look.icons) == (False, 0, False)
        assert made_of.look.language != "zh"
        assert made_of == PageVariation.of(seed)
    assert set(HELD_OUT_FAMILIES) | set(TRAINING_FAMILIES) == set(FAMILIES)


def test_data_in_labels_stay() -> None:
    assert translate_label("Orders: Home", "de", synonyms=False) == "Bestellungen: Home"
    assert translate_label('Orders where status with "find": 1', "es", synonyms=False).endswith(
        'where status with "find": 1'
    )
    assert translate_label("Find orders", "en", synonyms=True) == "Look up purchases"
    assert translate_label("ORDERS", "de", synonyms=False) == "ORDERS"


def test_lexicons_cover_the_same_words() -> None:
    for words in LANGUAGES.values():
        assert SYNONYMS.keys() <= words.keys()
        assert all(words.values())


def test_a_wizard_keeps_what_earlier_pages_took() -> None:
    env = begin_episode("wizard")
    text = open_page(env, "/do/issue_refund")
    assert '[continue] button "Continue"' in text
    with_three = [page.fields for page in env_site(env).form_pages("issue_refund")]
    assert max(map(len, with_three)) == 2
    assert open_page(env, "/do/issue_refund/9").count("no such page") == 1


def env_site(env: ToolEnv) -> Any:
    browser = env.episode.surface
    assert isinstance(browser, PageBrowser)
    return browser._site


def test_snapshots_go_on_alike_and_do_not_fit_another_variation() -> None:
    env = begin_episode("cards")
    open_page(env, "/orders")
    kept = pickle.loads(pickle.dumps(env.snapshot()))
    other = make_env("cards")
    other.restore(kept)
    assert other.digest() == env.digest() == env.fork().digest()
    assert open_page(other, "/customers") == open_page(env, "/customers")
    for wrong in (None, "wizard"):
        with pytest.raises(TaskError, match="same surface_settings"):
            make_env(wrong).restore(kept)


def test_digests_tell_variations_apart() -> None:
    assert len({begin_episode(variation).digest() for variation in (None, "cards", "icons")}) == 3


def test_no_switch_is_the_site_as_it_was_made() -> None:
    assert PageSettings.of({}) == PageSettings()
    assert PageSettings.of({"variation": None}) == PageSettings()
    assert make_env(None)._surface.settings is None


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"variation": "card"}, UnknownNameError),
        ({"variaton": 1}, UnknownNameError),
        ({"variation": -1}, ValueError),
        ({"variation": True}, TypeError),
        ({"variation": 1.5}, TypeError),
        (7, TypeError),
    ],
)
def test_wrong_switches_are_refused(given: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        gym.make(STOREFRONT, surface="pages", surface_settings=given)


def test_other_surfaces_have_no_pages() -> None:
    with pytest.raises(CapabilityError, match="surface='pages'"):
        gym.make(STOREFRONT, surface_settings={"variation": 1})
