"""What the script works with: the mail, tools to call by name, and ways to close a ticket.

It plays as an agent does: each call is a turn, and it knows nothing but what the mail and the answers say.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from datetime import date
from typing import Any, NoReturn, TypeAlias

import orjson

from palaestra.envs.instance import Instance
from palaestra.records import Json, ToolCall

# Any: rows as JSON, read by column; and the answers that a generator is sent.
Fields: TypeAlias = dict[str, Any]
Script: TypeAlias = Generator[Sequence[ToolCall], Any, Any]

_TICKET = re.compile(r"Ticket (?P<ticket>TCK-\d+), from (?P<sender>\S+): (?P<subject>.*)\n\n(?P<body>[\s\S]*)")


class CaseClosedError(Exception):
    """The script has closed its ticket."""


class Terminal:
    """One ticket and the tools.

    Args:
        instance: The task; its messages are read and nothing else of it.

    Attributes:
        known: Whether the mail has the form that the script knows.
        today: The day that the briefing names.
        ticket: The ticket's id.
        sender: The address that the mail came from.
        subject: The subject of the mail.
        body: Its text.
    """

    def __init__(self, instance: Instance) -> None:
        briefing, mail = (message["content"] for message in (instance.messages[0], instance.messages[-1]))
        day, found = re.search(r"\d{4}-\d\d-\d\d", briefing), _TICKET.match(mail)
        self.known = day is not None and found is not None
        self.today = date.fromisoformat(day[0]) if day else date.min
        self.ticket, self.sender, self.subject, self.body = found.groups() if found else ("", "", "", mail)
        self._cents: list[int] = []

    def find(self, pattern: str) -> str:
        """The first group of a pattern in the body; empty where it does not occur."""
        found = re.search(pattern, self.body)
        return found[1] if found else ""

    def ask(self, tool: str, **arguments: Json) -> Script:
        """The answer of one call as JSON; an empty one where it was refused or is none."""
        answers = yield [ToolCall(tool=tool, arguments=arguments)]
        for message in answers:
            if message["role"] == "tool":
                answer: Json = orjson.loads(message["content"])
                if not isinstance(answer, dict) or "error" in answer:
                    return {}
                self._note_amount(arguments, answer)
                return answer
        return {}

    def pages(self, tool: str, **arguments: Json) -> Script:
        """All results of a search."""
        found: list[Fields] = []
        page: Fields = {"next_cursor": None}
        while True:
            cursor = page["next_cursor"]
            page = yield from self.ask(tool, **arguments, **({"cursor": cursor} if cursor else {}))
            found += page.get("results", [])
            if not page.get("next_cursor"):
                return found

    def read(self, *sections: str) -> Script:
        """Open handbook sections, as the work asks for it; what they say is not read."""
        for section in sections:
            yield from self.ask("read_handbook", section_id=section)

    def _note_amount(self, arguments: Mapping[str, Json], answer: Mapping[str, Json]) -> None:
        """Keep what a call pays and what it keeps, or what its answer says is due."""
        for cents in (answer.get("refund_due_cents", arguments.get("amount_cents")), arguments.get("fee_cents")):
            if isinstance(cents, int) and cents and cents not in self._cents:
                self._cents.append(cents)

    def tell(self, message: str) -> Script:
        """Tell the customer, with every amount that was paid or kept."""
        figure = "".join(f" The amount is EUR {cents // 100}.{cents % 100:02}." for cents in self._cents)
        yield from self.ask("reply", message=f"{message}{figure}")

    def resolve(self, message: str) -> Script:
        """Tell the customer, resolve the ticket and stop."""
        yield from self.tell(message)
        yield from self.ask("resolve_ticket", ticket_id=self.ticket)
        yield from self.end()

    def decline(self, section: str, evidence: str) -> Script:
        """Decline by a section and a record, and stop."""
        yield from self.read(section)
        yield from self.ask("decline_request", ticket_id=self.ticket, policy_id=section, evidence_id=evidence)
        yield from self.ask("reply", message="I am sorry, but our terms do not allow what you ask for.")
        yield from self.end()

    def escalate(self, section: str, evidence: str, *, team: str, priority: str) -> Script:
        """Hand the ticket over and stop."""
        yield from self.read(section)
        grounds = {"policy_id": section, "evidence_id": evidence}
        yield from self.ask("escalate_ticket", ticket_id=self.ticket, team=team, priority=priority, **grounds)
        yield from self.ask("reply", message="A colleague will look into this and write to you.")
        yield from self.end()

    def end(self, **answer: Json) -> Script:
        """Finish and stop."""
        yield [ToolCall(tool="finish", arguments={"answer": answer} if answer else {})]
        self.stop()

    def stop(self) -> NoReturn:
        """Do nothing more."""
        raise CaseClosedError
