"""Families from outside the package: first-class where right; named by file, line and rule where not."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import gymnasium as gym
import pytest

from palaestra.agents import oracle, rollout
from palaestra.envs import ToolEnv
from palaestra.errors import DrawError, PalaestraError, TaskError, UnknownNameError
from palaestra.proof import prove

ENV_ID = "palaestra/Storefront-v0"
WHOLE = '''"""A customer moves house."""

from palaestra.envs.worlds.storefront import *


@family("storefront/move-house", level=1, traits=("write",), splits=("train", "dev"))
def move_house(desk: Desk) -> Task:
    customer = desk.pick(Customer, lambda c: not c.fraud_hold)
    street = f"Ringstrasse {desk.stream.between(1, 199)}"
    ticket = desk.ticket(customer, "We have moved")
    prompt = desk.mail(ticket, f"We live at {street} now. Please keep it with my account.")
    if desk.twin:  # the address on file is another one now, so the request is not the owner's
        owner = desk.state.update(customer, email=f"another.{customer.email}")
        return Task(
            prompt=prompt,
            rubric=[desk.account(owner), *desk.expect_declined(ticket, "PRV-1", owner, after=["saw-account"])],
            oracle=[
                call("get_ticket", ticket_id=ticket.id),
                call("get_customer", customer_id=owner.id),
                call("read_handbook", section_id="PRV-1"),
                *decline_calls(ticket, "PRV-1", owner, "Only its owner can change an account."),
            ],
        )
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(ticket, id="saw-ticket"),
            expect_change(customer, {"street": street}, id="street", after=["saw-ticket"]),
            *desk.expect_resolved(ticket, after=["street"]),
        ],
        oracle=[
            call("get_ticket", ticket_id=ticket.id),
            call("update_customer", customer_id=customer.id, street=street),
            *closing_calls(ticket, "Your new address is in your account."),
        ],
    )
'''
"""A task file as a user writes one."""
TWINNED = WHOLE.replace('"dev"))', '"dev"), twin=True)')
"""The same with its refusal twins."""

HEAD = """
from palaestra.envs.worlds.storefront import *

@family("storefront/mine", level=1)
def mine(desk):
    order = desk.pick(Order, lambda o: o.status == "processing")
    ticket = desk.ticket(desk.customer(order), "Hello")
"""
"""Where a function that goes wrong begins; its line 5 carries the decorator."""


def write(folder: Path, text: str, name: str = "mine.py") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return folder


def make(folder: Path, **kwargs: Any) -> ToolEnv:
    env = gym.make(ENV_ID, tasks=folder, **kwargs).unwrapped
    assert isinstance(env, ToolEnv)
    return env


def body(text: str) -> str:
    return HEAD + indent(dedent(text), "    ") + "\n"


def task(**changed: str) -> str:
    """The end of a family whose parts are right but for those that are given."""
    parts = {
        "prompt": "desk.mail(ticket, 'Hello')",
        "rubric": "[expect_change(order, {'status': 'cancelled'}, id='cancelled')]",
        "oracle": "[call('cancel_order', order_id=order.id), *closing_calls(ticket, 'Done')]",
        **changed,
    }
    return body(f"return Task({', '.join(f'{name}={value}' for name, value in parts.items())})")


def line_of(folder: Path, words: str, name: str = "mine.py") -> int:
    return next(n for n, line in enumerate((folder / name).read_text().splitlines(), 1) if words in line)


# A file that is right


@pytest.mark.unmeasured
def test_a_task_file_of_fifty_lines_is_registered_proved_and_played(tmp_path: Path) -> None:
    assert len(WHOLE.splitlines()) <= 50
    assert re.findall(r"^from ([\w.]+)", WHOLE, re.MULTILINE) == ["palaestra.envs.worlds.storefront"]
    env = make(write(tmp_path / "tasks", TWINNED))
    proof = prove(env, env.task_set.ids("train"))
    assert proof.faults == []
    assert len(proof.tasks) == len(env.task_set.ids("train"))
    episode = rollout(env, oracle(env.oracle), name="oracle", seed=3, task="storefront/move-house/0003")
    assert (episode.task.family, episode.task.split) == ("storefront/move-house", "train")
    assert (episode.episode_return, episode.score.points, episode.score.passed) == (100, 100, True)


def test_a_users_folder_takes_the_place_of_the_worlds_own_families(tmp_path: Path) -> None:
    env = make(write(tmp_path, WHOLE))
    assert list(env.task_set.families) == ["storefront/move-house"]
    assert list(env.task_set.ids("heldout")) == []
    with pytest.raises(UnknownNameError, match="unknown task 'storefront/cancel-order/0000'"):
        make(tmp_path, task="storefront/cancel-order/0000")


def test_a_file_can_be_given_in_place_of_its_folder(tmp_path: Path) -> None:
    write(tmp_path, WHOLE)
    write(tmp_path, WHOLE.replace("move-house", "another"), "another.py")
    assert list(make(tmp_path / "mine.py").task_set.families) == ["storefront/move-house"]
    assert list(make(tmp_path).task_set.families) == ["storefront/another", "storefront/move-house"]


def test_a_family_that_a_file_imports_is_not_its_own(tmp_path: Path) -> None:
    imported = "from palaestra.envs.worlds.storefront.tasks.cancel_order import cancel_order\n"
    assert list(make(write(tmp_path, imported + WHOLE)).task_set.families) == ["storefront/move-house"]


def test_two_folders_may_hold_files_of_one_name(tmp_path: Path) -> None:
    first = make(write(tmp_path / "one", WHOLE))
    second = make(write(tmp_path / "two", WHOLE.replace("Ringstrasse", "Hauptplatz")))
    prompts = [env.reset(seed=0)[0][1]["content"] for env in (first, second)]
    assert "Ringstrasse" in prompts[0]
    assert "Hauptplatz" in prompts[1]
    assert "Ringstrasse" in first.reset(seed=1)[0][1]["content"]


def test_a_file_that_begins_with_an_underscore_is_no_task_file(tmp_path: Path) -> None:
    write(tmp_path, "raise RuntimeError", "_shared.py")
    assert list(make(write(tmp_path, WHOLE)).task_set.families) == ["storefront/move-house"]


def test_a_users_task_lists_no_split_that_it_does_not_occur_in(tmp_path: Path) -> None:
    env = make(write(tmp_path, WHOLE), split="heldout")
    with pytest.raises(TaskError, match="the split lists no instance; choose another split, or name a task"):
        env.reset(seed=0)


# Files that do not load


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1\ndef broken(:\n", r"mine\.py:2: .*; mend the task file"),
        ("import palaestra\nraise KeyError('a')\n", r"mine\.py:2: KeyError: 'a'; mend the task file"),
        (
            "\n\nfrom palaestra.envs.worlds.storefront import Desc\n",
            r"mine\.py:3: ImportError: .*Desc.*; did you mean Desk",
        ),
        ("import json\njson.loads('{')\n", r"mine\.py:2: JSONDecodeError: .*; mend the task file"),
        ("\x00", r"mine\.py:1: .*null bytes.*; mend the task file"),
        ("import sys\nsys.exit(0)\n", r"mine\.py:2: SystemExit: 0; mend the task file"),
        ("import mine_too\n", r"mine\.py:1: ModuleNotFoundError: .*'mine_too'; mend the task file"),
        (
            "import mine\n",
            r"mine\.py:1: ModuleNotFoundError: .*; task files are loaded one by one; put what they share",
        ),
        ("x = 1\n", r"no task family in 1 Python file\(s\); decorate a function with @family"),
        ("", r"no task family in 1 Python file\(s\); decorate a function with @family"),
    ],
    ids=["syntax", "raises", "import", "elsewhere", "null", "exit", "no module", "a neighbour", "no family", "empty"],
)
def test_a_file_that_does_not_load_is_named_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(TaskError, match=says) as caught:
        make(write(tmp_path, text))
    assert str(tmp_path) in str(caught.value)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"nowhere: there is no such file or folder; give the path of your task files"):
        make(tmp_path / "nowhere")


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    write(tmp_path, WHOLE, "tasks.txt")
    with pytest.raises(TaskError, match=r"tasks\.txt: not a Python file; a task file ends in \.py"):
        make(tmp_path / "tasks.txt")


@pytest.mark.parametrize(
    "id", ["move-house", "Storefront/move", "storefront/move_house", "storefront/a/b", "storefront/", ""]
)
def test_an_id_of_another_form_is_refused(tmp_path: Path, id: str) -> None:
    says = rf"mine\.py:6: family id {re.escape(repr(id))}; write `world/family` in lower case with hyphens"
    with pytest.raises(TaskError, match=says):
        make(write(tmp_path, WHOLE.replace("storefront/move-house", id)))


@pytest.mark.parametrize("level", ["0", "4", "-1", "'easy'"])
def test_a_level_that_is_none_is_refused(tmp_path: Path, level: str) -> None:
    says = r"mine\.py:6: storefront/move-house: level .*; levels are 1, 2 and 3"
    with pytest.raises(TaskError, match=says):
        make(write(tmp_path, WHOLE.replace("level=1", f"level={level}")))


@pytest.mark.parametrize("splits", ["()", "('test',)", "('train', 'validation')"])
def test_a_split_that_is_none_is_refused(tmp_path: Path, splits: str) -> None:
    says = r"mine\.py:6: storefront/move-house: splits .*; there are train, dev, heldout"
    with pytest.raises(TaskError, match=says):
        make(write(tmp_path, WHOLE.replace('("train", "dev")', splits)))


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ('traits=("write",)', 'traits="write"', r"traits 'write'; write a tuple, as in \('write',\)"),
        ('splits=("train", "dev")', 'splits="train"', r"splits 'train'; there are train, .*, in a tuple"),
        ("(desk: Desk)", "()", r"move_house takes 0 arguments; a family takes one, as in def move_house\(desk: Desk\)"),
        ("(desk: Desk)", "(desk, stream)", "move_house takes 2 arguments; a family takes one"),
    ],
)
def test_a_decorator_or_a_signature_of_another_form_is_refused(
    right: str, wrong: str, says: str, tmp_path: Path
) -> None:
    with pytest.raises(TaskError, match=rf"mine\.py:6: storefront/move-house: {says}"):
        make(write(tmp_path, WHOLE.replace(right, wrong)))


def test_a_family_of_another_world_is_refused(tmp_path: Path) -> None:
    says = r"mine\.py:6: family bank/move-house is set in 'bank', not in 'storefront'; begin its id with storefront/"
    with pytest.raises(TaskError, match=says):
        make(write(tmp_path, WHOLE.replace("storefront/move", "bank/move")))


def test_two_families_of_one_id_are_refused_with_both_places(tmp_path: Path) -> None:
    write(tmp_path, WHOLE)
    with pytest.raises(TaskError, match=r"mine\.py:6: storefront/move-house is taken by .*again\.py:6; rename one"):
        make(write(tmp_path, WHOLE, "again.py"))


def test_a_decorator_without_a_level_is_refused_at_its_line(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"mine\.py:6: TypeError: .*'level'.*; mend the task file"):
        make(write(tmp_path, WHOLE.replace("level=1, ", "")))


# Families that do not make a task

CRASH = "return 1 // (desk.start.second * 0)"
WRONG: dict[str, tuple[str, str]] = {
    "an unknown column that is searched": (
        body("desk.state.find(Order, statuss='x')"),
        "DefinitionError: orders has no column 'statuss'; it has id, customer_id, ",
    ),
    "an unknown column that is expected": (
        task(rubric="[expect_change(order, {'statuss': 'cancelled'}, id='cancelled')]"),
        r"rubric: orders: unknown column 'statuss'; did you mean 'status'\?",
    ),
    "an unknown column that is planted": (
        body("desk.state.update(order, statuss='x')"),
        r"TypeError: .*'statuss'; did you mean 'status'\?",
    ),
    "an unknown attribute of the desk": (
        body("desk.orderline(order)"),
        r"AttributeError: .*'orderline'; did you mean 'order'",
    ),
    "an unknown tool": (
        task(oracle="[call('cancel_ordr', order_id=order.id)]"),
        "oracle: unknown tool 'cancel_ordr'; did you mean 'cancel_order'",
    ),
    "a tool of another role": (task(oracle="[call('lift_fraud_hold', customer_id='CUS-1')]"), "oracle: unknown tool"),
    "an argument that the tool does not take": (
        task(oracle="[call('cancel_order', order=order.id)]"),
        "oracle: cancel_order: order_id: Field required; order: Extra inputs are not permitted",
    ),
    "an alternative that calls an unknown tool": (
        task(alternatives="[[call('cancel', order_id=order.id)]]"),
        "alternative 1: unknown tool 'cancel'; did you mean 'cancel_order'",
    ),
    "a crash": (body(CRASH), "ZeroDivisionError: integer division or modulo by zero"),
    "nothing that fits": (
        body("desk.pick(Order, lambda o: o.status == 'eaten', what='eaten order')"),
        "the world has no eaten order; ask for less, or plant it",
    ),
    "nothing that fits, unnamed": (
        body("desk.pick(Product, lambda p: p.stock < 0)"),
        "the world has no row of products that fits; ask for less, or plant it",
    ),
    "points that do not add up": (
        task(rubric="[expect_change(order, {'status': 'cancelled'}, id='cancelled', points=60)]"),
        "RubricError: the expectations' points sum to 60 of 100; change them, or leave `points` out to share evenly",
    ),
    "points below one": (
        task(rubric="[expect_change(order, {'status': 'cancelled'}, id='cancelled', points=0)]"),
        "RubricError: criterion 'cancelled' has 0 points; points are positive integers",
    ),
    "criteria that wait for each other": (
        task(
            rubric="[expect_change(order, {'status': 'cancelled'}, id='a', after=['b']), "
            "expect_change(ticket, {'status': 'resolved'}, id='b', after=['a'])]"
        ),
        "RubricError: criteria wait for each other: (a -> b -> a|b -> a -> b); drop one `after`",
    ),
    "a criterion that waits for an unknown one": (
        task(rubric="[expect_change(order, {'status': 'cancelled'}, id='cancelled', after=['cancel'])]"),
        r"RubricError: criterion 'cancelled': unknown criterion 'cancel'; did you mean 'cancelled'\? \(in `after`\)",
    ),
    "two criteria of one id": (
        task(rubric="[expect_change(order, {'status': 'cancelled'}, id='a'), expect_read(order, id='a')]"),
        "RubricError: criterion id 'a' occurs twice; give one of them its own `id=`",
    ),
    "no criterion": (task(rubric="[]"), "RubricError: a rubric needs at least one expectation"),
    "a criterion that holds already": (
        task(rubric="[Criterion(id='a', text='', check=lambda e: MET)]").replace(
            "import Desk", "import Criterion, Desk", 1
        )
        + "from palaestra.rubrics import MET\n",
        "RubricError: criterion 'a' holds before anything is done; expect a change, not a fact",
    ),
    "an unknown name": (body("return always(order)"), "NameError: name 'always' is not defined"),
    "a planted row that names none": (
        body("desk.state.update(order, customer_id='CUS-0')") + task()[len(HEAD) :],
        "RowError: orders ORD-[0-9]+: customer_id is 'CUS-0', but customers has no such row",
    ),
    "a planted row whose key is taken": (
        body("desk.state.insert(order)"),
        r"RowError: orders has a row 'ORD-[0-9]+' already; ask next_id for a new id",
    ),
    "no task at all": (
        body("return None"),
        r"the family's function gives None and no task; end it with `return Task\(...\)`",
    ),
    "a task that is forgotten to return": (body("Task(prompt='', rubric=[], oracle=[])"), "gives None and no task"),
    "a task that is yielded": (body("yield Task(prompt='', rubric=[], oracle=[])"), "gives <generator .* and no task"),
    "a prompt that is no text": (task(prompt="ticket"), r"prompt: Ticket .* is no text; write what the user says"),
    "a list of criteria in the rubric": (
        task(rubric="[desk.expect_resolved(ticket, after=[])]"),
        r"rubric: holds a list in the list; write a \* before what gives several criteria",
    ),
    "a rubric that is one criterion": (
        task(rubric="expect_read(order)"),
        r"rubric: Criterion .* is no list; write a list of criteria, as `expect_read\(...\)`",
    ),
    "a call in the rubric": (
        task(rubric="[call('get_order', order_id=order.id)]"),
        r"rubric: holds ToolCall .*; write a list of criteria",
    ),
    "a list of calls in the oracle": (
        task(oracle="[closing_calls(ticket, 'Done')]"),
        r"oracle: holds a list in the list; write a \* before what gives several calls",
    ),
    "a criterion in the oracle": (
        task(oracle="[expect_read(order)]"),
        "oracle: holds Criterion .*; write a list of calls",
    ),
    "an oracle that is one call": (
        task(oracle="call('finish')"),
        "oracle: ToolCall.* is no list; write a list of calls",
    ),
    "an oracle that does not finish": (
        task(oracle="[call('cancel_order', order_id=order.id)]"),
        r"oracle: does not finish; end it with call\('finish'\)",
    ),
    "alternatives that are one list of calls": (
        task(alternatives="[call('finish')]"),
        "alternative 1: ToolCall.* is no list; write a list of calls",
    ),
    "an argument without a name": (
        task(oracle="[call('cancel_order', order.id)]"),
        r"call\('cancel_order'\): 'ORD-[0-9]+' has no name; name each argument, as in order_id='ORD-[0-9]+'",
    ),
    "a row in the place of its id": (
        task(oracle="[call('cancel_order', order_id=order)]"),
        "oracle: cancel_order: order_id: Input should be a valid string",
    ),
    "a value that is not JSON": (
        task(oracle="[call('finish', answer={'due': desk.today})]"),
        "oracle: finish: answer.due.*: Input should be a valid string \\(got datetime.date",
    ),
    "an unknown column that is permitted": (
        task(allow="[permit_change(order, 'statuss')]"),
        r"allow: orders: unknown column 'statuss'; did you mean 'status'\?",
    ),
    "a criterion about an unknown tool": (
        task(rubric="[expect_call('cancel_ordr', id='cancelled')]"),
        r"rubric: criterion 'cancelled': unknown tool 'cancel_ordr'; did you mean 'cancel_order'",
    ),
    "an `after` that is no list": (
        task(
            rubric="[expect_read(order, id='saw'), "
            "expect_change(order, {'status': 'cancelled'}, id='cancelled', after='saw')]"
        ),
        r"RubricError: criterion 'cancelled': after='saw' is a text; write a list, after=\['saw'\]",
    ),
    "fewer turns than the oracle takes": (
        task(max_turns="2"),
        "max_turns: 2 is less than the oracle's 4 calls; allow more",
    ),
    "a pick of no class": (
        body("desk.pick('orders')"),
        r"pick: 'orders' is no class of rows; name one, as in desk.pick\(Order\)",
    ),
    "a name that is misspelt": (body("return Tsk()"), r"NameError: name 'Tsk' is not defined; did you mean 'Task'"),
    "a helper that takes another row": (body("desk.customer(ticket.id)"), "AttributeError: 'str' object has no"),
}
LINES = {
    "an unknown column that is searched": "statuss",
    "an unknown column that is planted": "statuss",
    "an unknown attribute of the desk": "orderline",
    "a crash": "return 1 //",
    "an unknown name": "always",
    "a planted row whose key is taken": "insert(order)",
    "nothing that fits": "eaten",
    "nothing that fits, unnamed": "p.stock < 0",
    "an argument without a name": "call('cancel_order', order.id)",
    "a pick of no class": "desk.pick('orders')",
    "a name that is misspelt": "Tsk",
    "a helper that takes another row": "desk.customer(ticket.id)",
}
"""Where it is known, the line in which it went wrong; else the family's own."""


@pytest.mark.measured
@pytest.mark.parametrize("case", WRONG)
def test_a_family_that_makes_no_task_is_named_with_line_task_and_rule(case: str, tmp_path: Path) -> None:
    text, says = WRONG[case]
    folder = write(tmp_path, text)
    line = line_of(folder, LINES.get(case, "@family"))
    with pytest.raises(TaskError, match=says) as caught:
        make(folder, task="storefront/mine/0000")
    assert str(caught.value).startswith(f"{folder / 'mine.py'}:{line}: storefront/mine/0000: ")


def test_a_world_without_what_a_family_asks_for_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(DrawError):
        make(write(tmp_path, WRONG["nothing that fits"][0]), task="storefront/mine/0000")


def test_a_family_that_fails_for_one_index_plays_at_the_others(tmp_path: Path) -> None:
    folder = write(
        tmp_path, WHOLE.replace("    street =", "    if desk._ordinal:\n        raise KeyError(7)\n    street =")
    )
    env = make(folder)
    env.reset(options={"task": "storefront/move-house/0000"})
    with pytest.raises(TaskError, match=r"mine\.py:10: storefront/move-house/0008: KeyError: 7"):
        env.reset(options={"task": "storefront/move-house/0008"})
    assert env.task.id == "storefront/move-house/0000"


def test_a_criterion_that_crashes_later_is_the_graders_fault_and_no_score(tmp_path: Path) -> None:
    text = task(
        rubric="[expect_change(order, {'status': 'cancelled'}, id='a'), "
        "Criterion(id='b', text='', about='event', check=lambda e: 1 / 0)]"
    ).replace("import Desk", "import Criterion, Desk")
    env = make(write(tmp_path, text), task="storefront/mine/0000")
    env.reset(seed=0)
    with pytest.raises(PalaestraError, match=r"criterion 'b' crashed: ZeroDivisionError.*; mend its check"):
        env.step({"tool": "get_order", "arguments": {"order_id": "ORD-1001"}})


# Installed packages

ASK = """
import json, sys
import gymnasium as gym
import palaestra
env = gym.make("palaestra/Storefront-v0", split="train").unwrapped
env.reset(options={"task": "storefront/move-house/0003"})
families = env.task_set.families
print(json.dumps([len(families), families["storefront/move-house"].source, env.task.family]))
"""


def install(site: Path, text: str, *, group: str = "palaestra.tasks") -> Path:
    """A distribution as pip would leave it: a package of task files and its entry point."""
    write(site, "", "none.py").joinpath("movers").mkdir()
    write(site / "movers", "", "__init__.py")
    write(site / "movers", text, "moves.py")
    info = site / "movers-1.0.dist-info"
    write(info, "Metadata-Version: 2.1\nName: movers\nVersion: 1.0\n", "METADATA")
    write(info, f"[{group}]\nmovers = movers\n", "entry_points.txt")
    return site


def ask(site: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", ASK],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(site)},
    )


def test_an_installed_packages_families_stand_beside_the_worlds_own(tmp_path: Path) -> None:
    told = ask(install(tmp_path, WHOLE))
    assert told.returncode == 0, told.stderr
    count, source, family = json.loads(told.stdout)
    own = len(gym.make(ENV_ID).unwrapped.task_set.families)  # type: ignore[attr-defined]
    assert (count, family) == (own + 1, "storefront/move-house")
    assert source == f"{tmp_path / 'movers' / 'moves.py'}:6"


def test_an_installed_family_of_another_world_is_left_to_that_world(tmp_path: Path) -> None:
    told = ask(install(tmp_path, WHOLE.replace("storefront/move", "bank/move")))
    assert told.returncode != 0
    assert "unknown task 'storefront/move-house/0003'" in told.stderr


def test_a_package_that_offers_none_changes_nothing(tmp_path: Path) -> None:
    told = ask(install(tmp_path, WHOLE, group="another.group"))
    assert "unknown task 'storefront/move-house/0003'" in told.stderr
