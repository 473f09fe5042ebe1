"""Held-out requests of the Storefront: facts, kinds, names and subjects, for every family in every world of heldout."""

import re
from collections import Counter
from functools import cache
from itertools import pairwise

import pytest

from palaestra.benchmarks.wording import recognise_kind
from palaestra.benchmarks.wording.texts import words_of
from palaestra.envs import Instance, TaskSet, bundled_tasks, open_world
from palaestra.envs.kit.letters import Surroundings, compose_body
from palaestra.envs.kit.names import FIRST_NAMES, HELD_OUT_FIRST_NAMES, HELD_OUT_LAST_NAMES, LAST_NAMES
from palaestra.envs.state import overlay_on
from palaestra.envs.task import Split
from palaestra.envs.variation import names_in_calls
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.letters import LETTERS, SYMPTOMS
from palaestra.envs.worlds.storefront.schema import Customer, Employee, Product
from palaestra.seeding import Stream

pytestmark = pytest.mark.xdist_group("storefront")

TOPICS = {
    "absent-approver": "refund due", "await-answer": "unpacking", "await-returns": "returns under way",
    "await-search": "carrier search", "await-stock": "restock", "bundle-return": "return", "cancel-order": "cancel",
    "change-address": "address", "claim-remedy": "claim", "decline-early-claim": "lost parcel",
    "decline-expired-warranty": "defect",
    "decline-final-sale": "return", "decline-late-address": "address", "decline-late-cancel": "cancel",
    "decline-late-return": "return", "decline-price-match": "price", "delay-credit": "compensation",
    "double-charge": "double charge", "duplicate-tickets": "cancel", "find-double-charge": "double charge",
    "find-store-credit": "store credit", "find-warranty-end": "warranty end", "finish-build": "build",
    "fix-build": "build", "keep-after-all": "keep", "late-parcels": "compensation", "least-approver": "defect",
    "lost-and-left": "lost parcel", "lost-parcel": "lost parcel", "missed-promotion": "code", "net-paid": "total paid",
    "order-status": "status", "partial-refund": "defect", "pay-for-return": "refund due", "price-match": "price",
    "price-match-order": "price", "recall": "recall", "redirect-orders": "address", "refund-damaged-item": "defect",
    "refund-over-limit": "defect", "return-extended-window": "return", "return-opened-item": "return",
    "short-refund": "refund due", "slow-claim": "compensation", "swap-graphics-card": "build",
    "talk-fee-told": "return", "talk-hold-the-line": "return", "talk-in-a-hurry": "defect",
    "talk-new-address": "address", "talk-right-sender": "cancel", "talk-what-is-wrong": "defect",
    "talk-which-order": "cancel", "talk-wrong-number": "return", "third-party-request": "cancel",
    "warranty-claim": "defect", "wrong-item": "wrong item",
}  # fmt: skip
"""What each family's customer asks for; on an account on hold they ask for one of two things."""


@cache
def tasks() -> TaskSet:
    return bundled_tasks(open_world("storefront"))


@cache
def made(split: Split) -> tuple[Instance, ...]:
    """The first three indices of every family, of other rules and records the first; twins left out."""
    found = [task for task in tasks().candidates(split) if tasks().family_of(task).twin_of is None]
    if split in ("heldout-policy", "heldout-records"):
        first = {task.rpartition("/")[0]: task for task in reversed(found)}
        return tuple(tasks().instance(task) for task in first.values())
    return tuple(tasks().instance(task) for task in found if int(task[-4:]) % 100 < 3)


def request_of(instance: Instance) -> tuple[str, str]:
    envelope, _, rest = instance.messages[1]["content"].partition("\n\n")
    return envelope.partition(": ")[2], rest


def body_of(instance: Instance) -> str:
    return "\n".join(part for part in request_of(instance)[1].split("\n\n") if not part.startswith("("))


def facts_in(text: str) -> frozenset[str]:
    """The ids, numbers, days and amounts of a text."""
    return frozenset(word.strip(".,:;?!()") for word in text.split() if re.search(r"\d", word))


def names_in(instance: Instance, text: str) -> frozenset[str]:
    """The names of goods and people, and the texts of the solution, that a text has."""
    state = instance.initial_state
    rows = [row.name for row in state.find(Product)] + [row.name for row in state.find(Customer)]
    return frozenset(name for name in (*rows, *names_in_calls(instance.oracle)) if name in text)


@pytest.fixture
def plain_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Word every task that is made from now on as training does."""
    for split in tasks().splits:
        made(split)
    monkeypatch.setattr(Desk, "letters", {})


@pytest.mark.usefixtures("plain_words")
def test_a_held_out_body_states_every_fact_that_the_words_of_training_would_state() -> None:
    for instance in made("heldout"):
        plain, said = body_of(tasks().rebuild(instance.spec.id)), body_of(instance)
        assert plain != said
        assert facts_in(plain) <= facts_in(said), instance.spec.id
        assert names_in(instance, plain) <= names_in(instance, said), instance.spec.id


@pytest.mark.usefixtures("plain_words")
def test_the_wording_changes_nothing_but_the_words() -> None:
    for instance in made("heldout"):
        plain = tasks().rebuild(instance.spec.id)
        assert (plain.oracle, plain.alternatives) == (instance.oracle, instance.alternatives)
        assert plain.rubric.specs == instance.rubric.specs
        assert plain.user == instance.user


@pytest.mark.usefixtures("plain_words")
@pytest.mark.parametrize("split", ["train", "dev", "heldout-policy", "heldout-records"])
def test_other_splits_have_the_words_of_training(split: Split) -> None:
    assert all(tasks().rebuild(i.spec.id).messages == i.messages for i in made(split))


def test_the_kind_of_every_held_out_request_is_the_one_that_its_family_asks_for() -> None:
    for instance in made("heldout"):
        family = instance.spec.family.partition("/")[2]
        topic = LETTERS[recognise_kind(LETTERS, words_of(body_of(instance)))].topic
        assert topic in ({"return", "defect"} if family == "fraud-hold" else {TOPICS[family]}), instance.spec.id


def test_no_subject_of_heldout_is_a_subject_of_training_or_tells_the_kind() -> None:
    trained = {request_of(i)[0] for i in made("train")} | {request_of(i)[0] for i in made("dev")}
    held_out = [(request_of(i)[0], i) for i in made("heldout")]
    assert not trained & {subject for subject, _ in held_out}
    kinds = {kind for letters in LETTERS.values() for kind in re.findall(r"[a-z]{4,}", letters.topic)} - {"item"}
    for subject, _ in held_out:
        assert not kinds & set(re.findall(r"[a-z]+", subject.lower())), subject
    pools = {letters.around.subjects for letters in LETTERS.values()}
    assert len(pools) == 2, "customers' and colleagues'"


def test_a_twin_makes_the_request_of_its_sibling_in_heldout() -> None:
    twins = [task for task in tasks().candidates("heldout") if tasks().family_of(task).twin_of]
    for task in twins:
        family, _, index = task.rpartition("/")
        sibling = tasks().instance(f"{family.removesuffix('-twin')}/{index}")
        assert tasks().instance(task).messages[1] == sibling.messages[1], task


def test_people_of_heldout_have_names_that_no_other_split_has() -> None:
    assert not {*FIRST_NAMES} & {*HELD_OUT_FIRST_NAMES}
    assert not {*LAST_NAMES} & {*HELD_OUT_LAST_NAMES}
    world = tasks().world

    def words_in_names(seed: int) -> set[str]:
        base = overlay_on(world.base(seed))
        names = [person.name for person in base.find(Customer)] + [person.name for person in base.find(Employee)]
        return {word for name in names for word in name.split()}

    held_out = words_in_names(world.seeds["heldout"][0])
    for split in ("train", "dev", "heldout-policy", "heldout-records"):
        assert not held_out & words_in_names(world.seeds[split][0]), split


def test_parts_around_a_request_name_no_record_and_no_amount() -> None:
    for kind in LETTERS.values():
        voices = [voice for voice, _ in kind.around.voices]
        parts = [*kind.around.subjects, *kind.around.asides, *kind.reasons, *kind.summaries]
        parts += [subject for voice in voices for subject in voice.subjects]
        parts += [text for voice in voices for text in (*voice.greetings, *voice.histories, *voice.closings)]
        for part in (*parts, *kind.foreign_reasons.values()):
            assert not re.search(r"\d|EUR|€|\{", part), part


def test_nothing_around_a_request_speaks_of_a_move_or_an_address() -> None:
    for around in {id(kind.around): kind.around for kind in LETTERS.values()}.values():
        parts = [*around.asides, *(text for voice, _ in around.voices for text in voice.histories)]
        for part in parts:
            assert not re.search(r"\b(?:mov(?:e|es|ed|ing)|building|address|renovat\w+|new home)\b", part), part


def test_a_letter_with_a_foreign_subject_has_no_greeting_or_closing_of_another_voice() -> None:
    foreign = 0
    for instance in made("heldout"):
        subject, body = request_of(instance)
        around = next(kind.around for kind in LETTERS.values() if subject_fits(subject, kind.around))
        if any(subject in voice.subjects for voice, _ in around.voices):
            foreign += 1
            others = [voice for voice, _ in around.voices if subject not in voice.subjects]
            parts = {text.lower() for voice in others for text in (voice.greetings[0], *voice.closings)}
            assert not any(part in body.lower() for part in parts if len(part) > 6), instance.spec.id
    assert foreign > 10


def subject_fits(subject: str, around: Surroundings) -> bool:
    return subject in around.subjects or any(subject in voice.subjects for voice, _ in around.voices)


def test_every_way_to_ask_is_recognised_as_its_kind_in_every_style() -> None:
    for name, kind in LETTERS.items():
        facts = dict.fromkeys(kind.facts, "X-1")
        for seed in range(30):
            body = compose_body(kind, facts, Stream.root("styles", name, seed))
            found = recognise_kind(LETTERS, words_of(body))
            assert LETTERS[found].topic == kind.topic, (name, found, body)


def test_every_fault_has_words_of_its_own() -> None:
    texts = [words_of(text) for ways in SYMPTOMS.values() for text in ways]
    assert len({*texts}) == len(texts)
    shared = Counter(pair for text in texts for pair in {*pairwise(text)})
    for fault, ways in SYMPTOMS.items():
        mine = {pair for text in ways for pair in pairwise(words_of(text))}
        others = {pair for f, w in SYMPTOMS.items() if f != fault for text in w for pair in pairwise(words_of(text))}
        assert len(mine - others) >= len(mine) / 2, (fault, shared.most_common(3))


def test_some_letters_have_a_second_wish_some_another_language_and_some_a_history() -> None:
    bodies = [request_of(i)[1].lower() for i in made("heldout")]
    asides = [text[:18].lower() for kind in LETTERS.values() for text in kind.around.asides]
    foreign = ("bonjour", "guten tag", "hola", "hallo zusammen", "buenos", "madame, monsieur", "sehr geehrte", "salut")
    assert sum(any(aside in body for aside in asides) for body in bodies) >= len(bodies) / 10
    assert sum(body.startswith(foreign) for body in bodies) >= len(bodies) / 8
    assert len({*bodies}) == len(bodies)
