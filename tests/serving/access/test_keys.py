"""Keys and rates: what is accepted, until when, and how much."""

import pytest

from palaestra.errors import AccessError, KeyScopeError, UnknownNameError
from palaestra.serving.access import KeyRing, KeyScope, expand_scopes, find_key, make_key, rotate_key
from palaestra.serving.access.rates import TokenBucket
from served import ManualClock, caller


def test_a_key_is_accepted_until_it_expires_and_then_not() -> None:
    clock = ManualClock()
    token, record = make_key("trainer", [KeyScope.AUTHOR], now=0.0, lifetime=10.0)
    ring = KeyRing([record], clock=clock)
    assert ring.authenticate(token).scopes == {KeyScope.AUTHOR, KeyScope.PLAY}
    clock.now = 9.9
    assert ring.authenticate(token).owner == "trainer"
    clock.now = 10.0
    with pytest.raises(AccessError, match="has expired"):
        ring.authenticate(token)


def test_no_other_text_is_a_key() -> None:
    token, record = make_key("trainer", [KeyScope.PLAY], now=0.0, lifetime=None)
    ring = KeyRing([record], clock=ManualClock())
    other, _ = make_key("trainer", [KeyScope.PLAY], now=0.0, lifetime=None)
    head, id_, secret = token.split("_", 2)
    wrong = (
        *(None, "", "x", token + "x", token[:-1], " " + token, token.swapcase(), other, record.hash),
        *(f"{head}_{id_}_{other.split('_', 2)[2]}", f"{head}_{other.split('_', 2)[1]}_{secret}"),
    )
    for text in wrong:
        with pytest.raises(AccessError):
            ring.authenticate(text)


def test_a_key_that_was_rotated_is_accepted_for_the_overlap_alone() -> None:
    clock = ManualClock()
    old, record = make_key("trainer", [KeyScope.READ], now=0.0, lifetime=None)
    new, records = rotate_key([record], record.id, now=100.0, lifetime=None, overlap=60.0)
    ring = KeyRing(records, clock=clock)
    clock.now = 159.0
    assert ring.authenticate(old).owner == ring.authenticate(new).owner == "trainer"
    clock.now = 160.0
    with pytest.raises(AccessError):
        ring.authenticate(old)
    assert ring.authenticate(new).scopes == {KeyScope.READ}
    with pytest.raises(UnknownNameError):
        rotate_key(records, "no-such", now=0.0, lifetime=None, overlap=0.0)


def test_a_key_in_place_of_its_id_is_refused_and_never_shown() -> None:
    token, record = make_key("trainer", [KeyScope.PLAY], now=0.0, lifetime=None)
    with pytest.raises(UnknownNameError, match="not the id of one") as raised:
        find_key([record], token)
    assert token[-20:] not in str(raised.value)


def test_a_key_that_expires_is_rotated_into_one_that_lives_as_long() -> None:
    _, record = make_key("trainer", [KeyScope.PLAY], now=100.0, lifetime=50.0)
    for now in (120.0, 900.0):  # also where it has expired already
        _, records = rotate_key([record], record.id, now=now, lifetime=None, overlap=10.0)
        assert records[-1].expires == now + 50.0
    _, records = rotate_key([record], record.id, now=120.0, lifetime=7.0, overlap=10.0)
    assert records[-1].expires == 127.0


@pytest.mark.parametrize(
    ("owner", "scopes", "lifetime"),
    [("", ["play"], None), ("a b", ["play"], None), ("a" * 65, ["play"], None), ("a", [], None), ("a", ["play"], 0.0)],
)
def test_a_key_that_would_be_useless_is_not_made(owner: str, scopes: list[str], lifetime: float | None) -> None:
    with pytest.raises(ValueError, match=r"owner=|scope|lifetime="):
        make_key(owner, map(KeyScope, scopes), now=0.0, lifetime=lifetime)


def test_a_scope_implies_what_lies_below_it_and_nothing_beside() -> None:
    assert expand_scopes([KeyScope.ADMIN]) == {KeyScope.ADMIN, KeyScope.READ}
    assert expand_scopes([KeyScope.PLAY]) == {KeyScope.PLAY}
    with pytest.raises(KeyScopeError, match="no scope 'author'"):
        caller("a", KeyScope.PLAY, KeyScope.ADMIN).require(KeyScope.AUTHOR)


def test_a_refusal_for_a_scope_says_what_needs_it_and_how_to_get_it() -> None:
    player = caller("a", KeyScope.PLAY)
    with pytest.raises(KeyScopeError) as plain:
        player.require(KeyScope.READ)
    assert "or make a key with `palaestra keys add FILE OWNER --scope read`" in str(plain.value)
    with pytest.raises(KeyScopeError) as worded:
        player.require(KeyScope.AUTHOR, wanted="noise=3", without="leave it out")
    assert str(worded.value) == (
        "noise=3 needs a key of the scope 'author'; leave it out, or make a key with "
        "`palaestra keys add FILE OWNER --scope author`"
    )
    player.require(KeyScope.PLAY, wanted="play", without="leave it out")


def test_a_bucket_gives_its_burst_and_then_its_rate() -> None:
    bucket = TokenBucket(2.0, 3.0, 0.0)
    assert [bucket.spend(1, 0.0) for _ in range(6)] == [None] * 6
    assert bucket.spend(1, 0.0) == 0.5
    assert bucket.spend(1, 0.5) is None
    assert bucket.spend(1, 0.75) == 0.25
    spent = sum(bucket.spend(1, 0.5 + 0.1 * tick) is None for tick in range(1, 101))
    assert spent == 20


def test_an_amount_above_the_burst_is_possible_and_paid_off() -> None:
    bucket = TokenBucket(10.0, 1.0, 0.0)
    assert bucket.spend(25, 0.0) is None
    assert bucket.spend(1, 1.5) == pytest.approx(0.1)
    assert bucket.spend(1, 1.6) is None
