"""Schemas are handed out unread: equal to what they hold, owned by whoever holds them, plain when listed."""

import pickle

import orjson

from palaestra.tools import CONTROL, Schemas, Toolbox

BOX = Toolbox(CONTROL)


def test_they_are_a_sequence_of_plain_json() -> None:
    schemas = BOX.export("clerk")
    plain = [tool.export() for tool in CONTROL]
    assert list(schemas) == plain
    assert schemas == plain
    assert schemas == tuple(plain)
    assert schemas != plain[1:]
    assert (len(schemas), schemas[0], schemas[-2:]) == (len(plain), plain[0], plain[-2:])
    assert orjson.loads(orjson.dumps(list(schemas))) == plain


def test_what_one_holder_changes_no_other_sees() -> None:
    mine, yours = BOX.export("clerk"), BOX.export("clerk")
    mine[0].clear()
    assert yours[0] == CONTROL[0].export()
    assert mine.fresh() == yours
    assert pickle.loads(pickle.dumps(yours)) == yours
    assert pickle.loads(pickle.dumps(mine)) == mine != yours


def test_they_are_read_when_first_looked_at() -> None:
    torn = Schemas(b"[1")
    assert torn.written == b"[1"
    try:
        len(torn)
    except orjson.JSONDecodeError:
        return
    raise AssertionError("what was never JSON was read")
