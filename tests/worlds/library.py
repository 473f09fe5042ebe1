"""A lending library: the smallest world that has every kind of thing a world has.

State
    10 members, 14 books, 16 loans; every plain column type, a nullable reference, full-text columns.
Actions
    Look members, books and loans up; lend, renew, give back and cancel; waive a fine (the chief only); talk, finish.
Tasks
    `library/renew-loan` (with an alternative route and an answer) and `library/lend-book`.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from palaestra.envs.state import Base, Schema
from palaestra.envs.surfaces import generic_surface
from palaestra.envs.task import Draft, Task, call, family
from palaestra.envs.world import World
from palaestra.errors import ToolRefusal
from palaestra.records import Prose, References, Row, Searchable
from palaestra.rubrics import expect_answer, expect_change, expect_read, expect_row, forbid_call
from palaestra.seeding import Stream
from palaestra.tools import CONTROL, Reads, Toolbox, ToolContext, tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Member(Row):
    table: ClassVar[str] = "members"
    prefix: ClassVar[str] = ""
    name: Annotated[str, Searchable()]
    tier: Literal["basic", "premium"]
    blocked: bool
    sponsor_id: Annotated[str, References("members")] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Book(Row):
    table: ClassVar[str] = "books"
    prefix: ClassVar[str] = "BK-"
    title: Annotated[str, Searchable()]
    blurb: Annotated[str, Searchable()] | None
    tags: tuple[str, ...]
    copies: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Loan(Row):
    table: ClassVar[str] = "loans"
    prefix: ClassVar[str] = "LN-"
    book_id: Annotated[str, References("books")]
    member_id: Annotated[str, References("members")]
    lent_at: datetime
    due: date
    returned: bool
    fine_cents: int


SCHEMA = Schema(Member, Book, Loan)
RENEWAL = timedelta(days=14)

_NAMES = (
    "Ada Byron", "Björn Ek", "Chloé Petit", "Dan Wu", "Eva Novak",
    "Finn Berg", "Gül Demir", "Hana Sato", "Ivan Petrov", "Ada Lovelace",
)  # fmt: skip
_TITLES = (
    "River Maps", "Café Society", "The Quiet Engine", "Salt and Stone", "Night Trains", "A Short History of Rain",
    "Glass Houses", "The Engine Room", "Winter Birds", "Paper Boats", "Stone Soup", "Open Water", "The Long Rain",
    "Small Gods of Iron",
)  # fmt: skip
_TAGS = ("fiction", "travel", "history", "new")


def start(seed: int) -> datetime:
    """When episodes begin."""
    return datetime(2031, 3, 3, 9, 0) + timedelta(days=seed)


def populate(seed: int, rules: object = None) -> Base:
    """The library of a world seed."""
    del rules
    stream = Stream.root("library", seed)
    members = [
        Member(
            id=f"MEM-{n}",
            name=name,
            tier=stream.choice(("basic", "premium")),
            blocked=n == 4,
            sponsor_id=f"MEM-{n - 1}" if n % 3 == 0 else None,
        )
        for n, name in enumerate(_NAMES, 1)
    ]
    books = [
        Book(
            id=f"BK-{n}",
            title=title,
            blurb=None if n % 4 == 0 else f"Number {n}: {title.lower()} retold",
            tags=tuple(sorted(stream.sample(_TAGS, stream.between(0, 3)))),
            copies=stream.between(1, 3),
        )
        for n, title in enumerate(_TITLES, 1)
    ]
    loans = [_loan(n, stream.choice(books).id, stream.choice(members).id, start(seed), stream) for n in range(1, 17)]
    return Base(SCHEMA, [*members, *books, *loans])


def _loan(number: int, book_id: str, member_id: str, now: datetime, stream: Stream) -> Loan:
    lent_at = now - timedelta(days=stream.between(1, 40))
    due = lent_at.date() + timedelta(days=28)
    return Loan(
        id=f"LN-{number}",
        book_id=book_id,
        member_id=member_id,
        lent_at=lent_at,
        due=due,
        returned=number % 4 == 0,
        fine_cents=20 * max(0, (now.date() - due).days),
    )


MemberId = Annotated[str, References("members")]
BookId = Annotated[str, References("books")]
LoanId = Annotated[str, References("loans")]


@tool()
def get_member(context: ToolContext, member_id: MemberId) -> object:
    """Read a member's card.

    Args:
        member_id: The member, such as MEM-3.
    """
    member = context.state.get(Member, member_id)
    context.show(member)
    return member


@tool()
def search_members(context: ToolContext, text: str) -> object:
    """Find members by name.

    Args:
        text: Words of the name.
    """
    found = context.state.search(Member, text)
    context.mention(*(m.id for m in found))
    return [{"id": m.id, "name": m.name} for m in found]


@tool()
def search_books(context: ToolContext, text: str) -> object:
    """Find books by words of title or blurb.

    Args:
        text: The words; all of them must occur.
    """
    found = context.state.search(Book, text)
    context.show(*found)
    return found


@tool()
def get_loan(context: ToolContext, loan_id: LoanId) -> object:
    """Read a loan.

    Args:
        loan_id: The loan, such as LN-7.
    """
    loan = context.state.get(Loan, loan_id)
    context.show(loan)
    return loan


@tool(reads=Reads(table="loans", by={"member_id": "member_id"}, flags={"only_open": ("returned", False)}))
def list_loans(context: ToolContext, member_id: MemberId, only_open: bool = True) -> object:
    """List a member's loans.

    Args:
        member_id: The member.
        only_open: Leave out what has been given back.
    """
    context.state.get(Member, member_id)
    loans = [x for x in context.state.find(Loan, member_id=member_id) if not (only_open and x.returned)]
    context.show(*loans)
    return loans


@tool(writes=True, latency=5, cost=2)
def renew_loan(context: ToolContext, loan_id: LoanId, times: Annotated[int, Field(ge=1, le=3)] = 1) -> object:
    """Let a loan run for fourteen days more, or a multiple of it.

    Args:
        loan_id: The loan.
        times: How many times fourteen days.
    """
    loan = context.state.get(Loan, loan_id)
    if loan.returned:
        raise ToolRefusal("not_allowed", f"{loan.id} was given back")
    loan = context.state.update(loan, due=loan.due + times * RENEWAL)
    if context.state.get(Member, loan.member_id).blocked:
        raise ToolRefusal("not_allowed", f"{loan.member_id} is blocked")  # after the write: it must be taken back
    context.show(loan)
    return loan


@tool(writes=True, latency=5, cost=2)
def lend_book(context: ToolContext, book_id: BookId, member_id: MemberId) -> object:
    """Lend a book for 28 days.

    Args:
        book_id: The book.
        member_id: Who borrows it.
    """
    book, member = context.state.get(Book, book_id), context.state.get(Member, member_id)
    if member.blocked:
        raise ToolRefusal("not_allowed", f"{member.id} is blocked")
    if not book.copies:
        raise ToolRefusal("not_allowed", f"no copy of {book.id} is left")
    context.state.update(book, copies=book.copies - 1)
    loan = context.state.insert(
        Loan(
            id=context.state.next_id(Loan),
            book_id=book.id,
            member_id=member.id,
            lent_at=context.clock.now,
            due=context.clock.today + timedelta(days=28),
            returned=False,
            fine_cents=0,
        )
    )
    context.show(loan)
    return loan


@tool(writes=True, latency=5)
def cancel_loan(context: ToolContext, loan_id: LoanId) -> object:
    """Strike a loan that was entered by mistake.

    Args:
        loan_id: The loan.
    """
    context.state.delete(context.state.get(Loan, loan_id))
    return {"cancelled": loan_id}


@tool(writes=True, roles=("chief",))
def waive_fines(context: ToolContext, loan_ids: list[LoanId], reason: Annotated[str, Prose()]) -> object:
    """Forgive the fines on loans.

    Args:
        loan_ids: The loans.
        reason: Why, for the books.
    """
    del reason
    return [context.state.update(context.state.get(Loan, i), fine_cents=0) for i in loan_ids]


TOOLS = (
    get_member, search_members, search_books, get_loan, list_loans, renew_loan, lend_book, cancel_loan, waive_fines,
)  # fmt: skip


@family("library/renew-loan", level=1, traits=("multi-hop",))
def renew(draft: Draft) -> Task:
    """A member wants one of the open loans renewed and asks until when it runs."""
    blocked = {m.id for m in draft.state.find(Member, blocked=True)}
    loan = draft.pick(Loan, lambda x: not x.returned and x.member_id not in blocked, what="open loan")
    due = loan.due + RENEWAL
    write = call("renew_loan", loan_id=loan.id)
    done = call("finish", answer={"due": due.isoformat()})
    return Task(
        prompt=f"{loan.member_id} asks to renew {loan.id} once. Answer with `due`, the new date (YYYY-MM-DD).",
        rubric=[
            expect_read(loan),
            expect_change(loan, {"due": due}, after=[f"saw-{loan.id}"]),
            expect_answer({"due": due.isoformat()}, points=20),
            forbid_call("cancel_loan", points=10),
        ],
        oracle=[call("get_loan", loan_id=loan.id), write, done],
        alternatives=[[call("list_loans", member_id=loan.member_id), write, done]],
        max_turns=12,
    )


@family("library/lend-book", level=2, splits=("train", "heldout"))
def lend(draft: Draft) -> Task:
    """A member wants a book, named by its title."""
    book = draft.pick(Book)
    member = draft.pick(Member, lambda m: not m.blocked)
    book = draft.state.update(book, copies=book.copies + 1)
    draft.state.insert(  # planted, so that a task's world differs from its base
        Loan(
            id=draft.state.next_id(Loan),
            book_id=book.id,
            member_id=member.id,
            lent_at=draft.start,
            due=draft.today,
            returned=True,
            fine_cents=0,
        )
    )
    return Task(
        prompt=f"{member.id} would like to borrow “{book.title}”. Lend it.",
        rubric=[
            expect_read(book, id="searched"),
            expect_row(Loan, {"book_id": book.id, "member_id": member.id, "returned": False}),
            expect_change(book, {"copies": book.copies - 1}),
        ],
        oracle=[
            call("search_books", text=book.title),
            call("lend_book", book_id=book.id, member_id=member.id),
            call("finish"),
        ],
        max_turns=12,
    )


TOOLBOX = Toolbox((*TOOLS, *CONTROL), prose_tool="reply")
LIBRARY = World(
    name="library",
    schema=SCHEMA,
    populate=populate,
    start=start,
    toolbox=TOOLBOX,
    surfaces={"generic": generic_surface(SCHEMA, TOOLBOX, role="librarian")},
    role="librarian",
    actor="EMP-1",
    briefing=lambda now: f"You are the librarian EMP-1. It is {now:%Y-%m-%d}.",
    draft=Draft,
    families="worlds.library",
    attacks="worlds.library_attacks",
    optional_tools=("cancel_loan", "get_member", "search_members"),  # for agents that err, and for the action space
    seeds={"train": (1, 2), "dev": (3,), "heldout": (4,), "heldout-policy": (5,)},
    instances={"train": 4, "dev": 2, "heldout": 2, "heldout-policy": 1},
    unseen_instances=2,
)
