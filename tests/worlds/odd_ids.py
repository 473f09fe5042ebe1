"""The lending library with ids that hold slashes, e-mail addresses, UUIDs or URLs; and one with next to no tools."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

from palaestra import register_world
from palaestra.envs import World
from palaestra.envs.state import Base
from palaestra.records import Row
from palaestra.tools import Toolbox, finish, give_up
from worlds.library import LIBRARY, SCHEMA, get_loan, populate

FORMS: Mapping[str, Callable[[str, int], str]] = {
    "slash": lambda head, n: f"{head}/2031-{n}",
    "mail": lambda head, n: f"{head.lower()}.{n}+desk@library.example",
    "uuid": lambda head, n: str(UUID(int=(sum(map(ord, head)) << 100) + (n << 8) + 0xA1)),
    "url": lambda head, n: f"https://library.example/{head.lower()}?n={n}",
}


def _renamed(form: Callable[[str, int], str]) -> Callable[[int, Any], Base]:
    def new(key: str | None) -> str | None:
        if key is None:
            return None
        head, _, number = key.rpartition("-")
        return form(head, int(number))

    def rename(row: Row) -> Row:
        columns = ("id", *SCHEMA[row.table].references)
        return cast("Row", replace(cast("Any", row), **{name: new(getattr(row, name)) for name in columns}))

    def made(seed: int, rules: Any) -> Base:
        base = populate(seed, rules)
        return Base(SCHEMA, [rename(row) for table in base.listings.values() for row in table])

    return made


SLASH, MAIL, UUIDS, URL = (replace(LIBRARY, populate=_renamed(form)) for form in FORMS.values())
BARE: World = replace(LIBRARY, toolbox=Toolbox((get_loan, finish, give_up)))
"""A world in which nothing can be written or said."""


def register() -> Mapping[str, str]:
    """Register these worlds; again does nothing. By name: the environment id."""
    ids = {"slash": "SLASH", "mail": "MAIL", "uuid": "UUIDS", "url": "URL", "bare": "BARE"}
    for name, attribute in ids.items():
        register_world(f"worlds.odd_ids:{attribute}", env_id=f"test/Odd-{name}-v0")
    return {name: f"test/Odd-{name}-v0" for name in ids}
