"""Commands in a world that declares less than others: two splits, no handbook, no surface, no users."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from packs import write_pack
from palaestra.cli import main
from palaestra.envs.synthesis import listing

INN = str(Path(__file__).parents[1] / "worlds" / "inn.py")
Call = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def surgery(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_pack(tmp_path_factory.mktemp("packs") / "surgery", id="surgery"))


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["palaestra", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        output = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, output.out + output.err

    return run


def test_a_command_without_a_split_takes_those_that_the_world_declares(surgery: str, call: Call) -> None:
    code, text = call("tasks", "list", "--world", surgery)
    assert (code, "train" in text, "heldout" in text, "dev" in text) == (0, True, True, False)
    code, text = call("rubrics", "derive", "--all", "--world", surgery)
    assert (code, "5 task(s)" in text) == (0, True), text


def test_an_axis_of_the_held_out_tasks_has_a_column(call: Call) -> None:
    code, text = call("tasks", "list", "--world", INN, "--split", "heldout-world")
    assert (code, "heldout" in text.splitlines()[2]) == (0, True), text


def test_hashes_of_a_folder_are_named_after_its_world(surgery: str, call: Call, tmp_path: Path) -> None:
    code, text = call("suites", "hashes", surgery, "--out", str(tmp_path))
    assert code == 0, text
    assert [file.name for file in tmp_path.iterdir()] == ["surgery.heldout.txt"]
    assert not list(Path(surgery).parent.glob("*.txt"))


def test_a_world_that_is_named_twice_is_played_once(surgery: str, call: Call) -> None:
    code, text = call("eval", "oracle", "--world", surgery, "--world", "surgery", "--limit", "1")
    assert (code, "families trained on" in text) == (0, True), text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("play", "inn/cancel/0000", "--world", INN, "--surface", "generic"),
         "surface 'generic': the world 'inn' does not declare it; its surfaces: conventional"),
        (("tasks", "list", "--world", INN, "--split", "nope"),
         "unknown split 'nope'; there are: dev, heldout, heldout-policy, heldout-records, heldout-world, train"),
        (("eval", "oracle", "--suite", "ood", "--world", INN, "--axis", "family"),
         "axis 'family': the world 'inn' does not declare it; its axes: entities, policy, noise, horizon, wording"),
        (("bench", "env", "storefront", "--world", INN), f"storefront and --world {INN} name two worlds; name one"),
    ],
)  # fmt: skip
def test_what_a_world_does_not_have_is_refused_with_what_it_has(
    arguments: tuple[str, ...], says: str, call: Call
) -> None:
    code, text = call(*arguments)
    assert code == 1
    assert says in text


def test_the_axes_are_those_that_the_world_has_splits_for(surgery: str, call: Call) -> None:
    code, text = call("eval", "oracle", "--suite", "ood", "--world", surgery, "--limit", "1")
    assert (code, "Wording" in text, "Entities" in text, "Task families" in text) == (0, True, False, False), text


def test_two_versions_of_one_world_are_not_measured_as_one(surgery: str, call: Call, tmp_path: Path) -> None:
    newer = str(write_pack(tmp_path / "surgery_1", id="surgery", version=1))
    code, text = call("eval", "oracle", "--suite", "ood", "--world", surgery, "--world", newer)
    assert (code, "two are versions of one world; measure each by itself" in text) == (1, True), text


def test_an_evaluation_goes_on_where_its_world_is_named_otherwise_and_not_where_its_code_changed(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_pack(tmp_path / "infirmary", id="infirmary")
    again = ("--limit", "1", "--out", str(tmp_path / "run"))
    assert call("eval", "oracle", "--world", str(folder), *again)[0] == 0
    monkeypatch.chdir(tmp_path)
    code, text = call("eval", "oracle", "--world", "./infirmary", *again)
    assert code == 0, text
    (folder / "tasks.py").write_text((folder / "tasks.py").read_text() + "# changed\n")
    code, text = call("eval", "oracle", "--world", "infirmary", *again)
    assert (code, "holds an evaluation with other settings: suite.notes" in text) == (1, True), text


@pytest.mark.parametrize("trained", ["changed", "other"])
def test_an_ood_evaluation_ends_where_the_code_of_one_of_its_worlds_changed(
    trained: str, call: Call, tmp_path: Path
) -> None:
    folder = str(write_pack(tmp_path / f"ward_{trained}", id=f"ward-{trained}"))
    worlds = ("--world", folder, "--world", INN, "--option", f"trained={folder if trained == 'changed' else INN}")
    again = ("--suite", "ood", *worlds, "--axis", "world", "--limit", "1", "--out", str(tmp_path / "run"))
    assert call("eval", "oracle", *again)[0] == 0
    code, text = call("eval", "oracle", *again)
    assert code == 0, text
    with Path(folder, "tasks.py").open("a") as file:
        file.write("# changed\n")
    code, text = call("eval", "oracle", *again)
    assert (code, "holds an evaluation with other settings: suite.notes" in text) == (1, True), text


def test_a_world_without_a_release_says_so(call: Call) -> None:
    code, text = call("tasks", "prove", "--world", INN, "--release")
    assert (code, "the world 'inn' keeps no release; name its file as World.release" in text) == (1, True), text


def test_generated_worlds_are_compared_and_the_tables_written(call: Call, tmp_path: Path) -> None:
    code, text = call("worlds", "diversity", "--count", "3", "--markdown", str(tmp_path / "tables.md"))
    assert (code, "The closest pairs" in text) == (0, True), text
    assert "### Distances between worlds" in (tmp_path / "tables.md").read_text()


def test_worlds_are_compared_where_none_is_listed_only_by_number(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(listing, "PATH", tmp_path / "listing.json")
    listing.listed_worlds.cache_clear()
    try:
        code, text = call("worlds", "diversity")
    finally:
        listing.listed_worlds.cache_clear()
    assert (code, "0 generated world(s) are listed; give --count" in text) == (1, True), text


def test_numbers_of_one_split_are_proved_and_records_go_on(call: Call, tmp_path: Path) -> None:
    records = Path("docs/worlds/worlds.jsonl").read_bytes()
    (tmp_path / "worlds.jsonl").write_bytes(records)
    code, text = call("worlds", "prove", "--count", "28", "--split", "dev", "--jobs", "1", "--out", str(tmp_path))
    assert (code, "dev 3 of 3" in " ".join(text.split()), "train" in text) == (0, True, False), text
    assert (tmp_path / "worlds.jsonl").read_bytes() == records


@pytest.mark.parametrize(
    ("split", "expected"),
    [("devel", "unknown split of worlds 'devel'"), ("dev", "none of the numbers 0 to 6 is of dev")],
)
def test_splits_without_numbers_are_refused(split: str, expected: str, call: Call, tmp_path: Path) -> None:
    code, text = call("worlds", "prove", "--count", "7", "--split", split, "--out", str(tmp_path))
    assert (code, expected in " ".join(text.split())) == (1, True), text


def test_records_of_attacks_without_a_listing_are_refused(call: Call, tmp_path: Path) -> None:
    code, text = call("worlds", "prove", "--attacks", str(tmp_path), "--out", str(tmp_path))
    assert (code, "give --list too" in text) == (1, True), text


def test_generated_worlds_are_attacked_and_records_go_on(call: Call, tmp_path: Path) -> None:
    once = ("worlds", "attack", "--count", "1", "--attack", "claims-success", "--jobs", "1", "--out", str(tmp_path))
    code, text = call(*once, "--markdown", str(tmp_path / "tables.md"))
    assert (code, "claims-success" in text) == (0, True), text
    record = (tmp_path / "attacks.jsonl").read_bytes()
    assert "### Attacks on 1 generated worlds" in (tmp_path / "tables.md").read_text()
    assert call(*once)[0] == 0
    assert (tmp_path / "attacks.jsonl").read_bytes() == record
