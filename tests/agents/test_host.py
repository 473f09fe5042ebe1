"""A process that hosts worlds, without the process; what holds wherever worlds run is in `trainers/rollouts/worlds`."""

import pickle
import subprocess
import sys
from typing import Any

import pytest

from palaestra.agents.host import Host
from palaestra.errors import EpisodeOverError, InfrastructureError, UnknownNameError
from rollouts.faulty import faulty

TASK = "library/renew-loan/0000"


@pytest.fixture
def host() -> Host:
    host = Host()
    assert ask(host, "open", 0, faulty()) == (True, None)
    return host


def ask(host: Host, method: str, world: int, *arguments: object) -> tuple[bool, Any]:
    went_well, came = pickle.loads(host.answer(pickle.dumps((method, world, arguments))))
    assert isinstance(went_well, bool)
    return went_well, came


@pytest.mark.parametrize(
    ("deed", "says"),
    [("!crash", "step raised KeyError: 'shelf 9'"), ("!odd", "step raised OddError"), ("!fault", "the disk is gone")],
)
def test_an_error_comes_as_one_that_can_be_raised_with_where_it_was(host: Host, deed: str, says: str) -> None:
    ask(host, "reset", 0, TASK, 0)
    went_well, error = ask(host, "step", 0, deed)
    assert not went_well
    assert isinstance(error, InfrastructureError)
    assert says in str(error)
    [note] = error.__notes__
    assert note.startswith("in process ")
    assert "rollouts/faulty.py" in note


def test_an_error_that_does_not_survive_the_journey_is_told_in_another() -> None:
    went_well, error = ask(Host(), "open", 0, faulty(on_make="!odd"))
    assert not went_well
    assert isinstance(error, InfrastructureError)
    assert str(error) == "OddError: rust, dust"


def test_a_users_mistake_keeps_its_kind(host: Host) -> None:
    went_well, error = ask(host, "reset", 0, "library/renew-lone/0000", 0)
    assert not went_well
    assert isinstance(error, UnknownNameError)


def test_each_world_has_its_own_episode_and_goes_when_it_is_closed(host: Host) -> None:
    ask(host, "open", 1, faulty())
    assert ask(host, "reset", 1, TASK, 0)[0]
    went_well, error = ask(host, "step", 0, "> hello")
    assert not went_well
    assert isinstance(error, EpisodeOverError)
    assert ask(host, "close", 0) == (True, None)
    assert ask(host, "close", 0) == (True, None)
    assert ask(host, "step", 1, "> hello")[0]
    host.close()
    assert not ask(host, "step", 1, "> hello")[0]


def test_a_process_that_hosts_worlds_imports_nothing_heavy() -> None:
    program = "import sys, palaestra.agents.host; print(*{'torch', 'transformers', 'ray'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], check=True, capture_output=True).stdout == b"\n"
