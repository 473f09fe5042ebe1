import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from palaestra.errors import CheckpointError
from palaestra.tools import CHAT_FORMATS, Mark
from palaestra.trainers.codec import Codec, train_tokenizer
from palaestra.trainers.data.demonstration import render_episode
from palaestra.trainers.reference.policy import ReferencePolicy
from palaestra.trajectory import Episode
from palaestra.transcript import transcript_of

SPELT = [
    "<|end|>", "<|system|>", "<|assistant|>", "<ORDER_ID.0>", "<ORD.0>", "<|im_start|>", "<|im_end|>", "<think>",
    "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "<", "|", ">", "<|", "|>", "end", "im_end",
    "<|<|end|>", "<|end|><|end|>", "<|im_<|im_end|>end|>", "\u200b", "<|end\u200b|>", "é", "\u0301", "\u226e", "🙂",
    "\x00", "\n", "  ",
]  # fmt: skip
plain = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
texts = st.lists(st.sampled_from(SPELT) | plain, max_size=6).map("".join)


def marks_of(codec: Codec) -> list[str]:
    return sorted(token.content for token in codec.tokenizer.added_tokens_decoder.values())


def mark_ids(codec: Codec) -> set[int]:
    return set(codec.tokenizer.added_tokens_decoder)


def trained(episodes: Sequence[Episode], name: str, size: int = 600) -> Codec:
    form = CHAT_FORMATS.get(name)
    return Codec(
        train_tokenizer([render_episode(transcript_of(episode), form) for episode in episodes], form, size=size), form
    )


# What cannot be


@pytest.mark.parametrize(("own", "other"), [("compact", "qwen"), ("qwen", "compact")])
def test_a_tokenizer_without_the_end_mark_is_refused(
    make_policy: Callable[[str], ReferencePolicy], own: str, other: str
) -> None:
    form = CHAT_FORMATS.get(other)
    with pytest.raises(CheckpointError) as error:
        Codec(make_policy(own).codec.tokenizer, form)
    assert str(error.value) == (
        f"the tokenizer has no token {form.end!r}, which ends a turn in the {other} format; "
        "use the tokenizer and the format that the checkpoint was trained with"
    )


# Text stays text


@given(text=texts)
def test_any_text_reads_back_as_it_was_written(policy: ReferencePolicy, text: str) -> None:
    assert "".join(policy.codec.decode(policy.codec.encode([text]))) == text


@given(text=texts)
def test_text_never_becomes_a_mark_whatever_it_spells(policy: ReferencePolicy, text: str) -> None:
    ids = policy.codec.encode([text])
    assert mark_ids(policy.codec).isdisjoint(ids)
    assert not any(isinstance(piece, Mark) for piece in policy.codec.decode(ids))


def test_text_that_spells_any_of_the_marks_never_becomes_one(policy: ReferencePolicy) -> None:
    marks = marks_of(policy.codec)
    for text in [*marks, "".join(marks), "".join(reversed(marks)), "<|".join(marks)]:
        assert mark_ids(policy.codec).isdisjoint(policy.codec.encode([text])), text
        assert mark_ids(policy.codec).isdisjoint(policy.codec.encode([f"{text} {text}"])), text


def test_a_mark_that_spans_two_pieces_of_text_is_not_made(policy: ReferencePolicy) -> None:
    end = policy.codec.format.end
    for at in range(1, len(end)):
        assert mark_ids(policy.codec).isdisjoint(policy.codec.encode([end[:at], end[at:]]))


def test_text_never_becomes_a_mark_that_overlaps_itself() -> None:
    form = CHAT_FORMATS.get("compact")
    tokenizer = train_tokenizer([["a b"]], form, size=300)
    tokenizer.add_tokens(["=="])  # as tokenizers hold runs of spaces or signs
    codec = Codec(tokenizer, form)
    assert mark_ids(codec).isdisjoint(codec.encode(["==="]))


# Marks


def test_a_mark_is_one_token_and_reads_back_as_a_mark(policy: ReferencePolicy) -> None:
    codec = policy.codec
    marks = [Mark(content) for content in marks_of(codec)]
    ids = codec.encode(marks)
    assert len(ids) == len(set(ids)) == len(marks)
    read = codec.decode(ids)
    assert read == marks
    assert all(isinstance(piece, Mark) for piece in read)


def test_the_end_mark_has_the_end_id(policy: ReferencePolicy) -> None:
    assert policy.codec.encode([policy.codec.format.end]) == [policy.codec.end_id]


def test_a_mark_that_the_tokenizer_lacks_is_written_out_as_text(policy: ReferencePolicy) -> None:
    codec = policy.codec
    assert codec.encode([Mark("<NOBODY.7>")]) == codec.encode(["<NOBODY.7>"])


@given(data=st.data())
def test_pieces_read_back_as_their_text_and_marks(policy: ReferencePolicy, data: st.DataObject) -> None:
    marks = [Mark(content) for content in marks_of(policy.codec)]
    pieces = data.draw(st.lists(texts | st.sampled_from(marks), max_size=8))
    read = policy.codec.decode(policy.codec.encode(pieces))
    assert "".join(read) == "".join(pieces)
    assert [p for p in read if isinstance(p, Mark)] == [p for p in pieces if isinstance(p, Mark)]


@given(pieces=st.lists(texts, max_size=6))
def test_a_piece_has_the_same_tokens_wherever_it_stands(policy: ReferencePolicy, pieces: list[str]) -> None:
    codec = policy.codec
    assert codec.encode(pieces) == [number for piece in pieces for number in codec.encode([piece])]


@given(data=st.data())
def test_whatever_a_policy_samples_can_be_read(policy: ReferencePolicy, data: st.DataObject) -> None:
    size = len(policy.codec.tokenizer)
    ids = data.draw(st.lists(st.integers(0, size - 1), max_size=12))
    read = policy.codec.decode(ids)
    assert sum(isinstance(piece, Mark) for piece in read) == sum(number in mark_ids(policy.codec) for number in ids)
    policy.codec.encode(read)  # what was read can be echoed by a world


# Parts of a turn


WRAPPED = [
    Mark("<switch>"), "SWITCH", Mark("</switch>"), Mark("<subgoal>"), "look up", Mark("</subgoal>"), Mark("<action>"),
    "get_order id=1", Mark("</action>"),
]  # fmt: skip


def parts_of(codec: Codec, pieces: Sequence[str], *, start: int = 10) -> list[tuple[str, str]]:
    """The kind and the text of each part of a turn."""
    ids = codec.encode(pieces)
    whole, *parts = codec.turn(ids, start=start)
    assert (whole.kind, whole.start, whole.end) == ("turn", start, start + len(ids))
    return [(part.kind, "".join(codec.decode(ids[part.start - start : part.end - start]))) for part in parts]


@pytest.fixture(scope="module", params=["marks", "text"])
def planner(request: pytest.FixtureRequest) -> Codec:
    """Of a tokenizer that holds the tags, and of one that does not, as those of models from elsewhere."""
    form = CHAT_FORMATS.get("planner")
    plain = CHAT_FORMATS.get("compact")
    corpus = [["<switch>KEEP</switch><subgoal>look up</subgoal><action>get_order</action>"] * 3]
    return Codec(train_tokenizer(corpus, form if request.param == "marks" else plain, size=400), form)


EXPECTED = [
    ("switch", "<switch>SWITCH</switch>"),
    ("plan", "<subgoal>look up</subgoal>"),
    ("action", "<action>get_order id=1</action>"),
]


def test_the_parts_of_a_turn_stand_between_the_tags_and_hold_them(planner: Codec) -> None:
    assert parts_of(planner, WRAPPED) == EXPECTED
    *others, (kind, action) = parts_of(planner, [*WRAPPED, planner.format.end])
    assert [*others, (kind, action.removesuffix("<|end|>"))] == EXPECTED
    assert action.endswith("</action><|end|>")


def test_what_stands_between_parts_is_of_none(planner: Codec) -> None:
    # A tokenizer without the tags has tokens like `>\n<`, which are of two parts at once.
    parts = dict(parts_of(planner, ["well ", *WRAPPED[:3], "é\n\n 7 ", *WRAPPED[3:]]))
    for kind, text in EXPECTED:
        assert text in parts[kind] or text[1:] in parts[kind]
        assert "7" not in parts[kind]


def test_a_token_with_text_of_two_parts_is_the_first_ones() -> None:
    compact, form = CHAT_FORMATS.get("compact"), CHAT_FORMATS.get("planner")
    text = "".join(WRAPPED)
    codec = Codec(train_tokenizer([[text] * 9], compact, size=400), form)
    assert any("><" in codec.decode([number])[0] for number in codec.encode([text]))
    assert parts_of(codec, [text]) == [
        ("switch", "<switch>SWITCH</switch><"),
        ("plan", "subgoal>look up</subgoal><"),
        ("action", "action>get_order id=1</action>"),
    ]


@pytest.mark.parametrize("missing", [0, 2, 3, 5, 6, 8])
def test_a_turn_that_lacks_a_tag_has_no_parts(planner: Codec, missing: int) -> None:
    assert parts_of(planner, WRAPPED[:missing] + WRAPPED[missing + 1 :]) == []


def test_tags_out_of_order_mark_no_parts(planner: Codec) -> None:
    assert parts_of(planner, WRAPPED[3:] + WRAPPED[:3]) == []
    assert parts_of(planner, []) == []


def test_text_that_spells_tags_marks_no_parts_where_tags_are_tokens() -> None:
    form = CHAT_FORMATS.get("planner")
    codec = Codec(train_tokenizer([["a"]], form, size=300), form)
    assert parts_of(codec, ["".join(WRAPPED)]) == []
    assert parts_of(codec, WRAPPED) == EXPECTED


def test_a_format_without_parts_has_turns_without_parts(policy: ReferencePolicy) -> None:
    assert parts_of(policy.codec, WRAPPED) == []


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_parts_are_in_order_and_inside_their_turn_whatever_is_drawn(planner: Codec, data: st.DataObject) -> None:
    pieces = data.draw(st.lists(st.sampled_from(WRAPPED) | texts, max_size=12))
    noise = data.draw(st.lists(st.integers(0, len(planner.tokenizer) - 1), max_size=8))
    ids = [*planner.encode(WRAPPED[: data.draw(st.integers(0, 9))]), *noise, *planner.encode(pieces)]
    whole, *parts = planner.turn(ids, start=0)
    assert [part.kind for part in parts] in ([], ["switch", "plan", "action"])
    at = 0
    for part in parts:
        assert at <= part.start <= part.end <= whole.end == len(ids)
        at = part.end


# Training


@pytest.mark.parametrize("name", ["compact", "qwen"])
def test_training_twice_gives_the_same_tokenizer(episodes: Sequence[Episode], name: str) -> None:
    first, second = trained(episodes, name), trained(episodes, name)
    assert first.tokenizer.backend_tokenizer.to_str() == second.tokenizer.backend_tokenizer.to_str()


@pytest.mark.parametrize("name", ["compact", "qwen", "qwen-thinking"])
def test_the_size_is_kept_and_counts_marks_and_bytes(episodes: Sequence[Episode], name: str) -> None:
    codec = trained(episodes, name)
    assert len(codec.tokenizer) == 600 + max(0, len(mark_ids(codec)) + 256 - 600)
    assert set(marks_of(codec)) == set(
        codec.format.marks([render_episode(transcript_of(e), codec.format) for e in episodes])
    )


def test_every_mark_of_the_episodes_is_a_token(policy: ReferencePolicy, episodes: Sequence[Episode]) -> None:
    known = set(marks_of(policy.codec))
    for episode in episodes:
        assert {p for p in render_episode(transcript_of(episode), policy.codec.format) if isinstance(p, Mark)} <= known


def test_the_tokenizer_saved_and_loaded_encodes_the_same(
    policy: ReferencePolicy, episodes: Sequence[Episode], tmp_path: Path
) -> None:
    policy.codec.tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path, local_files_only=True)
    assert isinstance(loaded, PreTrainedTokenizerFast)
    codec = Codec(loaded, policy.codec.format)
    assert codec.end_id == policy.codec.end_id
    for episode in episodes[:3]:
        pieces = render_episode(transcript_of(episode), codec.format)
        assert codec.encode(pieces) == policy.codec.encode(pieces)
    for text in SPELT:
        assert codec.encode([text]) == policy.codec.encode([text])
        assert "".join(codec.decode(codec.encode([text]))) == text


def test_a_sentence_that_recurs_word_for_word_is_one_token() -> None:
    form = CHAT_FORMATS.get("compact")
    said = "The customer is always told why."
    tokenizer = train_tokenizer([[said, f" number {n}"] for n in range(30)], form, size=400)
    assert len(Codec(tokenizer, form).encode([said])) == 1


def test_the_tokens_of_json_are_the_same_however_often_it_is_encoded(policy: ReferencePolicy) -> None:
    text = json.dumps({"id": "ORD-1001", "said": SPELT})
    assert policy.codec.encode([text]) == policy.codec.encode([text])
