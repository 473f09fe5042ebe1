"""The command as a person or a script uses it: output, exit codes, and one clear sentence for each mistake."""

import resource
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

ROOT = Path(__file__).parents[2]
TASK_FILE = ROOT / "examples" / "tasks" / "new_phone_number.py"


def run(*arguments: str, stdin: str = "", file_size: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run `palaestra` as its own process, perhaps one that may write no file larger than `file_size` bytes."""

    def limited() -> None:
        if file_size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))

    return subprocess.run(
        [sys.executable, "-c", "from palaestra.cli import main; main()", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=limited,
        check=False,
    )


def test_help_names_every_verb_and_gives_examples() -> None:
    assert all(verb in run("--help").stdout for verb in ("demo", "play", "check", "view", "tasks", "bench"))
    assert "palaestra tasks prove" in run("tasks", "prove", "--help").stdout


def test_version_is_the_package_s() -> None:
    assert run("--version").stdout.strip() == "palaestra 0.1.0"


def test_list_counts_what_ids_lists() -> None:
    ids = run("tasks", "list", "storefront", "--split", "dev", "--ids").stdout.split()
    table = run("tasks", "list", "storefront", "--split", "dev").stdout
    assert f"{len(ids)} tasks in" in table
    assert len(set(ids)) == len(ids)
    assert all(task.startswith("storefront/") for task in ids)


def test_show_prints_prompt_rubric_and_oracle() -> None:
    shown = run("tasks", "show", "storefront/cancel-order/0000").stdout
    assert "Please cancel" in shown
    assert "collateral" in shown
    assert 'resolve_ticket {"ticket_id"' in shown


def test_prove_accepts_a_folder_and_writes_the_whole_proof(tmp_path: Path) -> None:
    proof = tmp_path / "new" / "proof.json"
    result = run("tasks", "prove", str(TASK_FILE.parent), "--split", "dev", "--json", str(proof))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "4 tasks proved" in result.stdout
    assert orjson.loads(proof.read_bytes())["faults"] == []


def test_prove_fails_and_says_why_when_a_rubric_asks_for_too_little(tmp_path: Path) -> None:
    text = TASK_FILE.read_text().replace('changed(customer, {"phone": phone}, id="phone", after=["saw-account"]),', "")
    text = text.replace('after=["phone"]', 'after=["saw-account"]')
    (tmp_path / "weak.py").write_text(text)
    result = run("tasks", "prove", str(tmp_path), "--split", "dev")
    assert result.returncode == 1
    assert "not proved" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "named", "way_out"),
    [
        (("tasks", "show", "storefront/cancel-ordr/0000"), "cancel-ordr", "did you mean"),
        (("tasks", "show", "storefront/cancel-order/12"), "12", "four digits"),
        (("tasks", "list", "storefornt"), "storefornt", "did you mean 'storefront'"),
        (("tasks", "list", "--split", "tran"), "tran", "did you mean 'train'"),
        (("tasks", "prove", "--family", "cancel"), "cancel", "did you mean"),
        (("tasks", "prove", "./no_such_folder"), "no_such_folder", "give the path"),
        (("play", "elsewhere/x/0000"), "elsewhere", "storefront"),
        (("view", "/no/such.jsonl"), "/no/such.jsonl", "give a file of trajectories"),
        (("check", "palaestra/Storefrnt-v0"), "Storefrnt", "Storefront"),
        (("bench", "env", "CartPole-v1"), "CartPole-v1", "Storefront"),
        (("tasks", "prove", "--family", "delay-credit", "--split", "train"), "train", "nothing to prove"),
    ],
)
def test_a_mistake_is_one_sentence_that_names_the_value_and_the_way_out(
    arguments: tuple[str, ...], named: str, way_out: str
) -> None:
    result = run(*arguments)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert named in result.stderr
    assert way_out in result.stderr


def test_an_unreadable_trajectory_names_its_line_and_writes_no_page(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"env_id": 7}\n')
    result = run("view", str(broken))
    assert result.returncode == 1
    assert "line 1" in result.stderr
    assert list(tmp_path.iterdir()) == [broken]


def test_a_full_disk_loses_nothing_and_says_what_to_do(tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    proof.write_text("what stood there")
    full = run("tasks", "prove", str(TASK_FILE), "--split", "dev", "--json", str(proof), file_size=100)
    assert full.returncode == 1
    assert "free some space" in full.stderr
    assert proof.read_text() == "what stood there"
    assert list(tmp_path.iterdir()) == [proof]


def test_a_person_can_play_a_task_to_its_end() -> None:
    shown = run("tasks", "show", "storefront/cancel-order/0000").stdout.split("Oracle")[1]
    lines = [line.strip().split(" ", 1) for line in shown.strip().splitlines()]
    typed = [orjson.dumps({"tool": tool, "arguments": orjson.loads(given)}).decode() for tool, given in lines]
    result = run("play", "storefront/cancel-order/0000", stdin="\n".join(typed))
    assert "100 of 100 points; solved (finished)" in result.stdout


def test_play_takes_words_and_survives_mistakes() -> None:
    typed = "\n".join(
        (
            "tools refund",
            "help nothing_like_it",
            '{"tool": ',
            "",
            "search_customers query=maria lindqvist",
            "> I am looking into it",
            "score",
            "quit",
        )
    )
    result = run("play", "storefront/cancel-order/0000", stdin=typed)
    assert result.returncode == 0
    assert "issue_refund" in result.stdout
    assert result.stdout.count("cannot do that") == 2
    assert '"next_cursor"' in result.stdout
    assert "0 of 100 points; not solved (left)" in result.stdout
