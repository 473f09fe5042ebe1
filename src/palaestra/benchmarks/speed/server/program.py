"""A world as synthesis pipelines build it: FastAPI tools over an SQLite file, one uvicorn process per episode.

It has the structure of the environments of AWM ("Agent World Model"), written by hand for the Storefront's most used
tools, and is a little lighter: calls are plain JSON over HTTP, without the framing of MCP. It runs as a program and
imports nothing from Palaestra, so that its start-up cost is its own.

    python program.py DATABASE SOCKET TODAY
"""

import socket
import sys
from datetime import date, datetime
from typing import Any, Literal

import sqlalchemy as sa
import uvicorn
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field

Found = dict[str, Any]


class ById(BaseModel):
    """The id of one record."""

    id: str


class Pieces(BaseModel):
    """A number of pieces of an order line."""

    line_id: str
    quantity: int = Field(ge=1, le=99)


class ReplyBody(BaseModel):
    """A message to the customer."""

    message: str = Field(min_length=1)


class FinishBody(BaseModel):
    """The end of the work."""

    answer: dict[str, str | int | bool] | None = None


class DeclineBody(BaseModel):
    """A declined ticket, with the policy and the evidence."""

    ticket_id: str
    policy_id: str
    evidence_id: str


class RefundBody(Pieces):
    """A refund for pieces of an order line."""

    amount_cents: int = Field(ge=1)
    reason: str


class RepaymentBody(BaseModel):
    """A refund of a payment."""

    payment_id: str
    amount_cents: int = Field(ge=1)
    reason: str


class Store:
    """The database: one connection, and one transaction per call.

    Args:
        path: The SQLite file.
    """

    def __init__(self, path: str) -> None:
        self.engine = sa.create_engine(f"sqlite:///{path}")
        self._tables = sa.MetaData()
        self._tables.reflect(self.engine)

    def rows(self, connection: sa.Connection, table: str, **equal: str) -> list[Found]:
        """The rows whose columns equal `equal`, ordered by id."""
        columns = self._tables.tables[table].c
        chosen = sa.select(*columns).where(*(columns[name] == value for name, value in equal.items()))
        return [dict(row) for row in connection.execute(chosen.order_by(columns.id)).mappings()]

    def row(self, connection: sa.Connection, table: str, key: str) -> Found:
        """The row with id `key`; status 404 where there is none."""
        found = self.rows(connection, table, id=key)
        if not found:
            raise HTTPException(404, f"there is no {key} in {table}")
        return found[0]

    def change(self, connection: sa.Connection, table: str, key: str, **values: object) -> Found:
        """Set columns of a row, and return its new state."""
        sql = self._tables.tables[table]
        connection.execute(sql.update().where(sql.c.id == key).values(**values))
        return self.row(connection, table, key)

    def add(self, connection: sa.Connection, table: str, prefix: str, **values: object) -> Found:
        """Insert a row under the next free number."""
        sql = self._tables.tables[table]
        numbers = connection.scalars(sa.select(sa.cast(sa.func.substr(sql.c.id, len(prefix) + 1), sa.Integer)))
        key = f"{prefix}{max(numbers, default=0) + 1}"
        connection.execute(sql.insert().values(id=key, **values))
        return self.row(connection, table, key)


def application(store: Store, today: date) -> FastAPI:
    """Make an application with one endpoint per tool of a desk on the day `today`."""
    app = FastAPI()
    _add_reads(app, store)
    _add_sums(app, store, today)
    _add_closings(app, store)
    _add_refunds(app, store)
    _add_words(app)
    return app


def _add_reads(app: FastAPI, store: Store) -> None:
    for tool, table in (
        ("get_customer", "customers"),
        ("get_product", "products"),
        ("get_ticket", "tickets"),
        ("read_handbook", "handbook"),
    ):
        app.post(f"/{tool}")(_reader(store, table))
    for tool, table in (("get_payments", "payments"), ("get_shipments", "shipments"), ("get_refunds", "refunds")):
        app.post(f"/{tool}")(_lister(store, table))

    @app.post("/get_order")
    async def get_order(asked: ById) -> Found:
        with store.engine.connect() as connection:
            order = store.row(connection, "orders", asked.id)
            return {"order": order, "lines": store.rows(connection, "order_lines", order_id=asked.id)}


def _reader(store: Store, table: str) -> Any:
    async def read(asked: ById) -> Found:
        with store.engine.connect() as connection:
            return store.row(connection, table, asked.id)

    return read


def _lister(store: Store, table: str) -> Any:
    async def of_order(asked: ById) -> Found:
        with store.engine.connect() as connection:
            store.row(connection, "orders", asked.id)
            return {table: store.rows(connection, table, order_id=asked.id)}

    return of_order


def _add_sums(app: FastAPI, store: Store, today: date) -> None:
    @app.post("/compute_paid")
    async def compute_paid(asked: Pieces) -> Found:
        with store.engine.connect() as connection:
            line = store.row(connection, "order_lines", asked.line_id)
            order = store.row(connection, "orders", line["order_id"])
        gross = line["unit_cents"] * asked.quantity
        share = round_half_up(order["discount_cents"] * gross, order["subtotal_cents"])
        return {"list_cents": gross, "discount_share_cents": share, "paid_cents": gross - share}

    @app.post("/compute_return_window")
    async def compute_return_window(asked: ById) -> Found:
        with store.engine.connect() as connection:
            line = store.row(connection, "order_lines", asked.id)
            parcels = store.rows(connection, "shipments", order_id=line["order_id"])
        arrived = [parcel for parcel in parcels if parcel["delivered"] is not None]
        if not arrived:
            raise HTTPException(409, f"nothing of {line['order_id']} has been delivered")
        last = max(arrived, key=lambda parcel: parcel["delivered"])
        return {
            "shipment_id": last["id"],
            "delivered": last["delivered"],
            "days_since_delivery": (today - last["delivered"]).days,
        }


def round_half_up(above: int, below: int) -> int:
    """The quotient of two whole numbers, rounded half up; 0 by 0 is 0."""
    return (2 * above + below) // (2 * below) if below else 0


def _add_closings(app: FastAPI, store: Store) -> None:
    def close(ticket_id: str, status: Literal["resolved", "declined"], **grounds: str) -> Found:
        with store.engine.begin() as connection:
            if store.row(connection, "tickets", ticket_id)["status"] != "open":
                raise HTTPException(409, f"{ticket_id} is not open")
            return store.change(connection, "tickets", ticket_id, status=status, **grounds)

    @app.post("/resolve_ticket")
    async def resolve_ticket(asked: ById) -> Found:
        return close(asked.id, "resolved")

    @app.post("/decline_request")
    async def decline_request(asked: DeclineBody) -> Found:
        return close(asked.ticket_id, "declined", policy_id=asked.policy_id, evidence_id=asked.evidence_id)


def _add_refunds(app: FastAPI, store: Store) -> None:
    def pay(connection: sa.Connection, payment: Found, line: Found | None, asked: RefundBody | RepaymentBody) -> Found:
        if asked.amount_cents > payment["amount_cents"] - payment["refunded_cents"]:
            raise HTTPException(409, f"{asked.amount_cents} cents are more than {payment['id']} has left")
        refunded = payment["refunded_cents"] + asked.amount_cents
        store.change(connection, "payments", payment["id"], refunded_cents=refunded)
        refund = store.add(
            connection,
            "refunds",
            "RFD-",
            order_id=payment["order_id"],
            line_id=line["id"] if line else None,
            payment_id=payment["id"],
            quantity=asked.quantity if isinstance(asked, RefundBody) else 0,
            amount_cents=asked.amount_cents,
            reason=asked.reason,
            status="paid",
            approver_id=None,
            created=datetime.now(),
        )
        del refund["created"]  # the server uses the wall clock, the world its own
        return refund

    @app.post("/issue_refund")
    async def issue_refund(asked: RefundBody) -> Found:
        with store.engine.begin() as connection:
            line = store.row(connection, "order_lines", asked.line_id)
            if asked.quantity > line["quantity"] - line["returned"]:
                raise HTTPException(409, f"{asked.line_id} has fewer pieces left than {asked.quantity}")
            store.change(connection, "order_lines", line["id"], returned=line["returned"] + asked.quantity)
            for payment in store.rows(connection, "payments", order_id=line["order_id"], status="captured"):
                if payment["refunded_cents"] < payment["amount_cents"]:
                    return pay(connection, payment, line, asked)
            raise HTTPException(409, f"{line['order_id']} has no captured payment with money left to give back")

    @app.post("/refund_payment")
    async def refund_payment(asked: RepaymentBody) -> Found:
        with store.engine.begin() as connection:
            payment = store.row(connection, "payments", asked.payment_id)
            if payment["status"] != "captured":
                raise HTTPException(409, f"{asked.payment_id} is {payment['status']}")
            return pay(connection, payment, None, asked)


def _add_words(app: FastAPI) -> None:
    @app.post("/reply")
    async def reply(asked: ReplyBody) -> Found:
        del asked
        return {"delivered": True}

    @app.post("/finish")
    async def finish(asked: FinishBody) -> Found:
        del asked
        return {"finished": True}


def main() -> None:
    """Serve the database in the first argument on the listening socket whose descriptor is the second argument."""
    database, descriptor, today = sys.argv[1:]
    app = application(Store(database), date.fromisoformat(today))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    server.run(sockets=[socket.socket(fileno=int(descriptor))])


if __name__ == "__main__":
    main()
