"""What `check_env` checks, under noise."""

from collections.abc import Mapping
from typing import Any

import pytest

from palaestra.envs import check_env
from palaestra.envs.check.subject import make
from worlds.noisy import ALL, STOREFRONT, SWITCHES
from worlds.registration import LIBRARY_ID

pytestmark = [pytest.mark.unmeasured, pytest.mark.usefixtures("light_collections")]

GENERAL = ("distractors", "renames", "caps", "failures", "rate_limit", "latency", "deadline")
"""The switches for which a world need not hand over anything."""


@pytest.mark.parametrize("switch", GENERAL)
def test_a_world_with_one_switch_on_keeps_the_contract(switch: str) -> None:
    check_env(make(LIBRARY_ID, noise=SWITCHES[switch]), steps=12, seeds=(0,))


@pytest.mark.parametrize("switch", ["stale", "conflicts", "events", "injections"])
def test_the_storefront_with_one_switch_on_keeps_the_contract(switch: str) -> None:
    check_env(make(STOREFRONT, noise=SWITCHES[switch], split="dev"), steps=10, seeds=(0,))


@pytest.mark.parametrize("noise", [ALL, {**ALL, "deadline": 40, "failures": 60}], ids=["all", "short"])
def test_the_storefront_with_all_switches_on_keeps_the_contract(noise: Mapping[str, Any]) -> None:
    check_env(make(STOREFRONT, noise=noise, split="dev"), steps=14, seeds=(0, 1))
