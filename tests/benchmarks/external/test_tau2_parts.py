"""What of the adapter of tau2-bench can be tested without it: refusal, layout, forks and the scripted user."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import orjson
import pytest
from pydantic import BaseModel

import palaestra.benchmarks.external.env as seam
from palaestra.benchmarks.external import install
from palaestra.benchmarks.external.tau2 import genuine, layout
from palaestra.benchmarks.external.tau2.facts import TAU2
from palaestra.benchmarks.external.tau2.served.tables import LentTable, fork_database
from palaestra.benchmarks.external.tau2.served.user import Tau2ScriptedUser, prompting, untold
from palaestra.benchmarks.external.worker import BenchmarkProcesses
from palaestra.digest import digest
from palaestra.errors import ConfigError, InfrastructureError

# Another package of the same name


def foreign(folder: Path) -> Path:
    """A folder with a package `tau2` that has nothing to do with the benchmark, as pip would install it."""
    package = folder / "tau2"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('raise RuntimeError("the wrong tau2 was imported")\n')
    (package / "spectra.py").write_text("PLANCK = 6.62607015e-34\n")
    about = folder / "tau2-2.4.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tau2\nVersion: 2.4.0\nSummary: Decay of spectra\n")
    return folder


def on_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tau2", raising=False)
    monkeypatch.syspath_prepend(str(folder))  # pyright: ignore[reportUnknownMemberType]
    importlib.invalidate_caches()


def test_another_package_of_that_name_is_refused_unimported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(foreign(tmp_path), monkeypatch)
    with pytest.raises(ImportError) as caught:
        genuine.demand()
    said = str(caught.value)
    assert str(tmp_path / "tau2") in said
    assert "version 2.4.0: Decay of spectra" in said
    assert "is not tau2-bench" in said
    assert "pip uninstall tau2" in said
    assert "palaestra suites install tau2 --from FOLDER" in said
    assert "tau2" not in sys.modules


def test_what_has_the_benchmarks_parts_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in ("__init__.py", *genuine.PARTS):
        (tmp_path / "tau2" / part).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tau2" / part).touch()
    on_path(tmp_path, monkeypatch)
    assert genuine.refusal() is None


def test_where_there_is_none_it_says_how_one_gets_it() -> None:
    said = genuine.refusal()
    assert said is not None
    assert said.startswith("tau2-bench is not installed")
    assert "git clone https://github.com/sierra-research/tau2-bench" in said


def test_a_benchmarks_environment_with_the_wrong_package_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tau2"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    foreign(packages)
    stamp = {"digest": digest(TAU2.installation), "checkout": str(tmp_path)}
    (folder / "installed.json").write_bytes(orjson.dumps(stamp))
    monkeypatch.setenv("PALAESTRA_BENCHMARKS", str(tmp_path))
    workers = BenchmarkProcesses(most=1)
    monkeypatch.setattr(seam, "WORKERS", workers)
    with pytest.raises(InfrastructureError, match="is not tau2-bench: `tau2` on PyPI is an unrelated package"):
        gym.make(TAU2.env_id, disable_env_checker=True)
    workers.close()


def test_the_package_of_that_name_is_never_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALAESTRA_BENCHMARKS", str(tmp_path / "home"))
    names = [name for packages in TAU2.installation.packages for name in packages.names]
    assert names[0] == "{checkout}"
    assert not [name for name in names if name.startswith("tau2")]
    with pytest.raises(ConfigError, match=r"needs a checkout of github\.com/sierra-research/tau2-bench"):
        install("tau2", TAU2.installation)
    with pytest.raises(ConfigError, match="so it is no checkout of"):
        install("tau2", TAU2.installation, source=foreign(tmp_path))


# The layout of a checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout in outline, without the large files."""
    folder = tmp_path / "checkout"
    for name in layout.NEEDED:
        path = folder / "data" / "tau2" / "domains" / name
        if "." in path.name:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("{}")
        else:
            path.mkdir(parents=True)
    return folder


def airline(folder: Path) -> Path:
    """The three files of tau-bench in which the airline's database is."""
    data = folder / "tau_bench" / "envs" / "airline" / "data"
    data.mkdir(parents=True)
    (data / "flights.json").write_text('{"F1": {"flight_number": "F1"}}')
    (data / "reservations.json").write_text("{}")
    (data / "users.json").write_text('{"ann_1": {"email": "ann@example.com"}}')
    return folder


def test_a_checkout_is_linked_and_left_as_it_is(checkout: Path, tmp_path: Path) -> None:
    before = sorted(checkout.rglob("*"))
    data = layout.laid_out(checkout, tmp_path / "home")
    assert layout.laid_out(checkout, tmp_path / "home") == data  # as a second process does
    assert (data / "tau2" / "domains" / "retail" / "db.json").resolve() == (
        checkout / "data" / "tau2" / "domains" / "retail" / "db.json"
    )
    assert sorted(checkout.rglob("*")) == before


@pytest.mark.parametrize("content", [None, "version https://git-lfs.github.com/spec/v1\noid sha256:0\n"])
def test_a_checkout_that_lacks_a_file_is_refused_by_its_name(
    checkout: Path, tmp_path: Path, content: str | None
) -> None:
    path = checkout / "data" / "tau2" / "domains" / "retail" / "db.json"
    path.unlink()
    if content is not None:
        path.write_text(content)  # a pointer to a large file that was not fetched
    with pytest.raises(FileNotFoundError, match=r"lacks retail/db\.json; give a full checkout"):
        layout.laid_out(checkout, tmp_path / "home")


def test_the_airlines_database_is_rebuilt_from_the_earlier_benchmark(checkout: Path, tmp_path: Path) -> None:
    data = layout.laid_out(checkout, tmp_path / "home")
    said = layout.airline_lacking(data)
    assert said is not None
    assert "pass airline_from=FOLDER" in said
    layout.airline_rebuilt(data, str(airline(tmp_path / "tau-bench")))
    assert layout.airline_lacking(data) is None
    rebuilt = json.loads((data / "tau2" / "domains" / "airline" / "db.json").read_text())
    assert list(rebuilt) == ["flights", "users", "reservations"]
    assert rebuilt["users"] == {"ann_1": {"user_id": "ann_1", "email": "ann@example.com"}}
    assert not (checkout / "data" / "tau2" / "domains" / "airline" / "db.json").exists()


def test_a_folder_without_the_airlines_files_is_refused_by_their_names(checkout: Path, tmp_path: Path) -> None:
    data = layout.laid_out(checkout, tmp_path / "home")
    source = airline(tmp_path / "tau-bench")
    (source / "tau_bench" / "envs" / "airline" / "data" / "users.json").unlink()
    with pytest.raises(
        FileNotFoundError, match=r"lacks .*users\.json; give a checkout of github\.com/sierra-research/"
    ):
        layout.airline_rebuilt(data, str(source))


# Forks of a database


class Row(BaseModel):
    """A row."""

    name: str
    tags: list[str] = []


class Database(BaseModel):
    """Two tables and a list."""

    rows: dict[str, Row]
    plain: dict[str, int]
    log: list[str]


def database() -> Database:
    return Database(rows={"a": Row(name="a"), "b": Row(name="b")}, plain={"x": 1}, log=[])


def test_what_a_fork_writes_its_lender_and_other_forks_do_not_see() -> None:
    lender = database()
    one, other = fork_database(lender), fork_database(lender)
    one.rows["a"].tags.append("new")
    one.rows.get("b").name = "c"
    one.rows["d"] = Row(name="d")
    one.plain["x"] = 2
    one.log.append("written")
    assert lender == database()
    assert other.model_dump() == database().model_dump()
    assert one.model_dump() == {
        "rows": {
            "a": {"name": "a", "tags": ["new"]},
            "b": {"name": "c", "tags": []},
            "d": {"name": "d", "tags": []},
        },
        "plain": {"x": 2},
        "log": ["written"],
    }


def test_rows_are_the_same_each_time_and_are_copied_when_handed_out() -> None:
    lender = database()
    table = LentTable(lender.rows)
    assert dict(table)["a"] is lender.rows["a"]  # as pydantic reads it
    assert table["a"] is table["a"]
    assert table["a"] is not lender.rows["a"]
    assert [row is lender.rows[key] for key, row in table.items()] == [False, False]
    assert all(row is table[key] for key, row in zip(table, table.values(), strict=True))


def test_a_row_that_was_taken_out_stays_with_the_lender() -> None:
    lender = database()
    table = fork_database(lender).rows
    assert table.pop("a").name == "a"
    assert table.pop("a", None) is None
    assert table.get("a", "gone") == "gone"
    with pytest.raises(KeyError):
        table.pop("a")
    with pytest.raises(KeyError):
        table["a"]
    assert list(lender.rows) == ["a", "b"]


# The scripted user


def act(name: str, /, **arguments: Any) -> Any:
    return SimpleNamespace(name=name, arguments=arguments, requestor="user")


NOTES = SimpleNamespace(
    reason_for_call="You want to send back a lamp.",
    known_info="You are Ann Lee. Your zip code is 12345. Your order is #W1.",
    unknown_info=None,
    task_instructions="You are in a hurry.",
)


def test_the_user_opens_with_all_notes_in_order() -> None:
    request = Tau2ScriptedUser(NOTES, (), bool).request
    assert request.split("\n\n") == [NOTES.reason_for_call, NOTES.known_info, NOTES.task_instructions]
    assert Tau2ScriptedUser("Say hello.", (), bool).request == "Say hello."


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("What is your zip code?", "Your zip code is 12345."),
        ("Which order is it, and the zip code please?", "Your zip code is 12345. Your order is #W1."),
        ("Do you like jazz?", "I have told you all I know about that."),
    ],
)
def test_a_question_is_answered_with_the_notes_that_share_its_words(asked: str, said: str) -> None:
    answer = Tau2ScriptedUser(NOTES, (), bool).answer(asked)
    assert answer is not None
    assert answer.startswith(said)


def test_the_user_leaves_when_twice_told_nothing_and_asked_nothing() -> None:
    user = Tau2ScriptedUser(NOTES, (), bool)
    assert user.answer("It is done.") is not None
    assert user.answer("What is your zip code?") is not None
    assert user.answer("It is done.") is not None
    assert user.answer("It is done.") is None


def test_the_user_acts_in_order_and_only_when_told_what_the_notes_do_not_say() -> None:
    apply, ask = act("apply", card="Gold Card", name="Ann Lee"), act("request_human")
    user = Tau2ScriptedUser(NOTES, [apply, ask], bool)
    assert untold(apply, user.request) == ["Gold Card"]
    assert user.act("Hello!") is None
    assert user.act("I suggest the gold card.") is apply
    assert user.act("Anything else?") is ask
    assert user.act("Anything else?") is None


def test_the_user_uses_a_tool_only_when_it_was_given() -> None:
    given: set[str] = set()
    use = act("call_discoverable_user_tool", discoverable_tool_name="dispute_1", arguments="{}")
    user = Tau2ScriptedUser(NOTES, [use], given.__contains__)
    assert user.act("Please dispute_1 it.") is None
    given.add("dispute_1")
    assert user.act("Please do it now.") is use


def test_the_words_of_a_solution_have_the_user_act() -> None:
    for one in (act("apply", card="Gold Card", name="Ann Lee"), act("request_human")):
        user = Tau2ScriptedUser(NOTES, [one], bool)
        assert user.act(prompting(one, user.request)["prose"]) is one
