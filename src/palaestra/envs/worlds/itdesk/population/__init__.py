"""The rows of an ITDesk world: a company of sixty people with a past at its service desk."""

from datetime import datetime
from itertools import chain

from palaestra.envs.kit import draw_start
from palaestra.envs.state import Base
from palaestra.envs.worlds.itdesk.policy import DeskRules, write_sections
from palaestra.envs.worlds.itdesk.population.access import draw_access
from palaestra.envs.worlds.itdesk.population.casework import draw_requests
from palaestra.envs.worlds.itdesk.population.hardware import draw_devices, draw_pools
from palaestra.envs.worlds.itdesk.population.operations import draw_changes, draw_duties
from palaestra.envs.worlds.itdesk.population.people import draw_accounts, draw_staff
from palaestra.envs.worlds.itdesk.population.systems import draw_roles, draw_systems
from palaestra.envs.worlds.itdesk.schema import SCHEMA
from palaestra.seeding import Stream


def world_start(seed: int) -> datetime:
    """The moment at which the world of this seed begins."""
    return draw_start("itdesk", seed)


def populate(seed: int, rules: DeskRules) -> Base:
    """Every row of the world of this seed; a pure function."""
    stream, today = Stream.root("itdesk", seed), world_start(seed).date()
    staff = draw_staff(stream.split("staff"), today, held_out=3_000 <= seed < 4_000)
    systems = draw_systems(stream.split("systems"), staff)
    roles = draw_roles(systems)
    return Base(
        SCHEMA,
        chain(
            staff,
            draw_accounts(stream.split("accounts"), staff),
            systems,
            roles,
            draw_access(stream.split("access"), today, staff, systems, roles),
            draw_devices(stream.split("devices"), today, rules, staff),
            draw_pools(stream.split("pools"), today, staff),
            draw_duties(stream.split("duties"), today, staff),
            draw_changes(stream.split("changes"), today, staff, systems),
            draw_requests(stream.split("requests"), world_start(seed), staff),
            write_sections(rules),
        ),
    )
