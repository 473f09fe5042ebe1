import pickle
from collections.abc import Iterator

import pytest

import palaestra.errors
from palaestra.errors import PalaestraError, RowMissingError, StorageError, ToolRefusal, UnknownNameError


def everything(kind: type[PalaestraError] = PalaestraError) -> Iterator[type[PalaestraError]]:
    yield kind
    for child in kind.__subclasses__():
        if child.__module__ == "palaestra.errors":
            yield from everything(child)


KINDS = sorted(set(everything()), key=lambda kind: kind.__name__)


def example(kind: type[PalaestraError]) -> PalaestraError:
    return kind("not_found", "there is none") if issubclass(kind, ToolRefusal) else kind("what, the rule; the way out")


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_pickles(kind: type[PalaestraError]) -> None:
    error = example(kind)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error)
    assert again.args == error.args


@pytest.mark.parametrize("kind", [k for k in KINDS if k is not PalaestraError])
def test_every_error_is_also_one_of_the_standard_library(kind: type[PalaestraError]) -> None:
    ours = {*everything()}
    standard = [base for base in kind.__mro__ if base not in ours and base not in (Exception, BaseException, object)]
    assert standard


def test_every_error_is_drawn_in_the_tree() -> None:
    for kind in KINDS:
        assert kind.__name__ in (palaestra.errors.__doc__ or "")


def test_a_refusal_carries_its_code() -> None:
    refusal = pickle.loads(pickle.dumps(ToolRefusal("forbidden", "no")))
    assert (refusal.code, refusal.message, str(refusal)) == ("forbidden", "no", "forbidden: no")


def test_a_storage_error_keeps_its_number() -> None:
    error = pickle.loads(pickle.dumps(StorageError(28, "full")))
    assert error.errno == 28


def test_a_missing_row_is_named_in_words() -> None:
    assert str(RowMissingError.of("PriceOffer", "PO-1")) == "there is no price offer 'PO-1'"


@pytest.mark.parametrize(
    ("name", "known", "says"),
    [
        ("traim", ["train", "dev"], "unknown split 'traim'; did you mean 'train'? (list)"),
        ("zzz", ["b", "a"], "unknown split 'zzz'; there are: a, b (list)"),
        ("zzz", [], "unknown split 'zzz'; 0 are known (list)"),
        ("zzz", [f"name-{n}" for n in range(13)], "unknown split 'zzz'; 13 are known (list)"),
    ],
)
def test_an_unknown_name_is_answered_with_near_ones_all_or_their_number(name: str, known: list[str], says: str) -> None:
    assert str(UnknownNameError.of("split", name, known, "(list)")) == says
