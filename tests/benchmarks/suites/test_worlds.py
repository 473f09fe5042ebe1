"""The tasks of worlds as a suite: choosing families."""

import pytest

from palaestra.benchmarks.suites import SuiteOptions, suite_of
from palaestra.errors import ConfigError, TaskError, UnknownNameError

SPLIT = "heldout-records"


def families(names: tuple[str, ...], *, worlds: tuple[str, ...] = (), limit: int | None = None) -> list[set[str]]:
    """The families of each cell."""
    suite = suite_of(None, SuiteOptions(split=SPLIT, worlds=worlds, families=names, limit=limit))
    return [{task.rpartition("/")[0] for task in cell.tasks} for cell in suite.cells]


def test_only_the_named_families_are_played_with_all_their_tasks() -> None:
    (chosen,) = suite_of(None, SuiteOptions(split=SPLIT, families=("cancel-order",))).cells
    whole = suite_of(None, SuiteOptions(split=SPLIT)).cells
    assert chosen.tasks == tuple(task for cell in whole for task in cell.tasks if "/cancel-order/" in task)
    assert 0 < len(chosen.tasks) < sum(len(cell.tasks) for cell in whole)


def test_a_family_is_named_with_its_world_or_without_and_the_limit_is_spread_over_the_chosen() -> None:
    both = {"storefront/cancel-order", "storefront/order-status"}
    assert families(("cancel-order", "storefront/order-status"), limit=2) == [both]


def test_a_choice_is_in_the_title_and_does_not_depend_on_its_order() -> None:
    one, other = (
        suite_of(None, SuiteOptions(split=SPLIT, families=names))
        for names in (("order-status", "cancel-order"), ("cancel-order", "order-status", "cancel-order"))
    )
    assert one == other
    assert one.title == "storefront, heldout-records, cancel-order, order-status"


def test_an_unknown_family_is_refused_with_near_names() -> None:
    with pytest.raises(UnknownNameError, match="unknown family 'cancel-ordr'; did you mean 'cancel-order'"):
        families(("cancel-order", "cancel-ordr"))


def test_a_world_without_any_of_the_families_is_refused() -> None:
    with pytest.raises(TaskError, match="itdesk: the split heldout-records lists no task of cancel-order"):
        families(("cancel-order",), worlds=("storefront", "itdesk"))


def test_suites_without_a_choice_of_families_refuse_one() -> None:
    with pytest.raises(ConfigError, match="--family: the suite ood has no such choice"):
        suite_of("ood", SuiteOptions(families=("cancel-order",)))
