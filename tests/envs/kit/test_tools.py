"""The tools that the kit makes from row classes: what they answer, refuse, write, and that they survive pickling."""

import json
import pickle
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.clock import Clock
from palaestra.envs import kit
from palaestra.envs.kit.generated import column_annotation, noun_of, with_article
from palaestra.envs.state import Base, Overlay, overlay_on
from palaestra.errors import ToolRefusal, UnknownNameError
from palaestra.records import Json, ToolCall
from palaestra.tools import Toolbox, ToolContext
from worlds.inn import CASES, SCHEMA, TOOLBOX, Booking, Case, Guest, Rules, populate

NOW = datetime(2031, 3, 3, 9)
SEARCH = kit.search_tool(
    Booking, owner=Guest, filters=(("status", "Only bookings of this status."),), summary=("arrival", "status")
)
FIND = kit.search_tool(Guest, query_text="Words of the name.", summary=("name",))
ALL = Toolbox([*TOOLBOX, SEARCH, FIND, *kit.reading_tools(CASES)[1:], *kit.closing_tools(CASES)[2:]])


class Counter:
    """A desk at which tools are called by hand."""

    def __init__(self, base: Base) -> None:
        self.state: Overlay = overlay_on(base)
        self.context = ToolContext(
            state=self.state, clock=Clock(NOW), role="agent", actor="EMP-1", ids_in=SCHEMA.ids_in, rules=Rules()
        )

    def call(self, tool: str, **arguments: Json) -> Any:
        result = ALL.call(self.context, self.state, "call_0_0", ToolCall(tool=tool, arguments=arguments), [])
        return json.loads(result.content)

    def refusal(self, tool: str, **arguments: Json) -> str:
        """The code of a refusal, which must write nothing."""
        before = len(self.state.journal)
        answer = self.call(tool, **arguments)
        assert len(self.state.journal) == before
        return str(answer["error"]["code"])


@pytest.fixture
def counter() -> Counter:
    return Counter(populate(1000, Rules()))


@pytest.fixture
def case(counter: Counter) -> Case:
    made = counter.state.insert(CASES.new("CASE-7", "GST-1", "My booking", NOW))
    assert isinstance(made, Case)
    return made


# Generated tools


@pytest.mark.parametrize("tool", list(ALL), ids=lambda tool: tool.name)
def test_a_tool_comes_back_from_pickling_as_it_was(tool: Any) -> None:
    assert pickle.loads(pickle.dumps(tool)).export() == tool.export()


def test_a_reader_states_its_argument_and_whose_id_it_is() -> None:
    tool = ALL["get_guest"]
    assert tool.description == "Show a guest."
    assert tool.parameters["required"] == ["guest_id"]
    assert tool.parameters["properties"]["guest_id"]["description"] == "The guest's id, such as GST-3."
    assert dict(tool.references) == {"guest_id": "guests"}


def test_a_filter_offers_the_values_of_its_column_and_may_be_left_out() -> None:
    schema = SEARCH.parameters
    assert schema["required"] == ["guest_id"]
    assert json.dumps(schema["properties"]["status"]).count("cancelled") == 1


def test_a_reader_shows_the_row_and_refuses_an_id_that_names_none(counter: Counter) -> None:
    assert counter.call("get_guest", guest_id="GST-1")["id"] == "GST-1"
    assert counter.refusal("get_guest", guest_id="GST-99") == "not_found"


def test_a_list_holds_every_row_of_the_owner_and_no_other(counter: Counter) -> None:
    listed = counter.call("get_bookings", guest_id="GST-2")["bookings"]
    assert [row["id"] for row in listed] == ["BKG-4", "BKG-5"]
    assert counter.refusal("get_bookings", guest_id="GST-99") == "not_found"


def test_a_search_narrows_by_owner_and_filter(counter: Counter) -> None:
    found = counter.call("search_bookings", guest_id="GST-2", status="requested")["results"]
    assert [(row["id"], row["status"]) for row in found] == [("BKG-5", "requested")]


def test_a_search_by_words_finds_the_row_that_holds_them(counter: Counter) -> None:
    guest = counter.state.get(Guest, "GST-3")
    found = counter.call("search_guests", query=guest.name)["results"]
    assert {"id": "GST-3", "name": guest.name} in found


def test_a_filter_on_a_column_that_there_is_not_is_an_error() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'status'"):
        column_annotation(Booking, "statu")


def test_words_for_rows() -> None:
    assert (noun_of(Booking), noun_of(kit.CaseRow)) == ("booking", "case_row")
    assert (with_article("guest"), with_article("employee")) == ("a guest", "an employee")
    assert (with_article("usage charge"), with_article("unread letter")) == ("a usage charge", "an unread letter")
    assert (with_article("hour"), with_article("house")) == ("an hour", "a house")


# Status changes


def test_a_transition_moves_the_status_once(counter: Counter) -> None:
    assert counter.call("cancel_booking", booking_id="BKG-2")["status"] == "cancelled"
    assert counter.refusal("cancel_booking", booking_id="BKG-2") == "wrong_status"


def test_a_transition_from_another_status_is_refused(counter: Counter) -> None:
    assert counter.refusal("cancel_booking", booking_id="BKG-3") == "wrong_status"


# Cases


def test_a_case_is_resolved_and_then_closed(counter: Counter, case: Case) -> None:
    counter.call("resolve_case", case_id=case.id)
    assert counter.state.get(Case, case.id) == replace(case, status="resolved")
    assert counter.refusal("resolve_case", case_id=case.id) == "not_open"
    again = counter.refusal("decline_request", case_id=case.id, policy_id="CNL-1", evidence_id="BKG-2")
    assert again == "not_open"


def test_a_declined_case_names_section_and_record(counter: Counter, case: Case) -> None:
    counter.call("decline_request", case_id=case.id, policy_id="CNL-1", evidence_id="BKG-2")
    declined = counter.state.get(Case, case.id)
    assert declined == replace(case, status="declined", policy_id="CNL-1", evidence_id="BKG-2")
    assert not list(kit.cases_name_their_policy_and_evidence(counter.state, CASES))


@pytest.mark.parametrize(("policy", "evidence"), [("XXX-9", "BKG-2"), ("CNL-1", "BKG-99"), ("CNL-1", "GST-77")])
def test_grounds_that_do_not_exist_are_refused(counter: Counter, case: Case, policy: str, evidence: str) -> None:
    code = counter.refusal("decline_request", case_id=case.id, policy_id=policy, evidence_id=evidence)
    assert code == "not_found"


def test_a_reopened_case_has_no_grounds(counter: Counter, case: Case) -> None:
    counter.call("decline_request", case_id=case.id, policy_id="CNL-1", evidence_id="BKG-2")
    counter.call("reopen_case", case_id=case.id)
    assert counter.state.get(Case, case.id) == case


def test_an_escalated_case_goes_to_the_team(counter: Counter, case: Case) -> None:
    counter.call(
        "escalate_case", case_id=case.id, team="owner", priority="high", policy_id="CNL-1", evidence_id="BKG-2"
    )
    handed = counter.state.get(Case, case.id)
    assert (handed.status, handed.team, handed.priority) == ("escalated", "owner", "high")


def test_a_case_without_its_grounds_breaks_the_invariant(counter: Counter, case: Case) -> None:
    counter.state.update(case, status="declined", policy_id="CNL-1")
    (sentence,) = kit.cases_name_their_policy_and_evidence(counter.state, CASES)
    assert sentence == "CASE-7: is declined, with grounds CNL-1, None"


# Pages


@given(count=st.integers(0, 45))
def test_pages_hold_every_row_once_in_order(count: int) -> None:
    rows = [Guest(id=f"GST-{n:02d}", name=f"Guest {n}", email="") for n in range(count)]
    context = Counter(Base(SCHEMA, rows)).context
    seen: list[str] = []
    cursor: str | None = None
    while True:
        answer: Any = kit.page(context, rows, cursor, lambda _: {})
        assert len(answer["results"]) <= kit.PAGE
        seen += [entry["id"] for entry in answer["results"]]
        cursor = answer["next_cursor"]
        if cursor is None:
            break
    assert seen == [row.id for row in rows]


def test_a_cursor_that_no_answer_gave_is_refused(counter: Counter) -> None:
    with pytest.raises(ToolRefusal, match="'GST-99' is not the next_cursor"):
        kit.page(counter.context, counter.state.find(Guest), "GST-99", lambda _: {})
