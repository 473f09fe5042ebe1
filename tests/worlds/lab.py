"""A laboratory: the test world with the column types that the library lacks, and answers with floats and lists.

State
    6 probes: float, decimal, JSON, bytes, and lists of integers, of floats and of named values; 12 readings.
Actions
    Look probes and readings up; draw a curve as an image; calibrate; retire; talk, finish with a typed answer.
Tasks
    `lab/mean-reading` (an answer with a float and lists) and `lab/calibrate` (writes of every new type, also with a
    derived rubric).
"""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from palaestra.envs.state import Base, Schema
from palaestra.envs.surfaces import generic_surface
from palaestra.envs.task import Draft, Task, call, family
from palaestra.envs.world import World
from palaestra.records import Digits, JsonObject, MaxBytes, References, Row
from palaestra.rubrics import close, expect_answer, expect_change, expect_read, in_any_order
from palaestra.seeding import Stream
from palaestra.tools import TYPED_CONTROL, Toolbox, ToolContext, tool

Unit = Literal["volt", "ampere", "ohm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe(Row):
    table: ClassVar[str] = "probes"
    prefix: ClassVar[str] = "PRB-"
    offset: float
    gain: float | None
    price: Annotated[Decimal, Digits(8, places=2)]
    settings: JsonObject
    log: JsonObject | None
    seal: Annotated[bytes, MaxBytes(64)]
    channels: tuple[int, ...]
    curve: tuple[float, ...]
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Row):
    table: ClassVar[str] = "readings"
    prefix: ClassVar[str] = "RD-"
    probe_id: Annotated[str, References("probes")]
    value: float


SCHEMA = Schema(Probe, Reading)
_UNITS: tuple[Unit, ...] = ("volt", "ampere", "ohm")


def start(seed: int) -> datetime:
    """When episodes begin."""
    return datetime(2031, 5, 5, 8, 0) + timedelta(days=seed)


def populate(seed: int, rules: object = None) -> Base:
    """The laboratory of a world seed."""
    del rules
    stream = Stream.root("lab", seed)
    probes = [
        Probe(
            id=f"PRB-{n}",
            offset=stream.between(-50, 50) / 8,
            gain=None if n % 3 == 0 else stream.between(1, 40) / 10,
            price=Decimal(stream.between(1_000, 99_999)).scaleb(-2),
            settings={
                "range": stream.between(1, 9),
                "filters": [{"cut": stream.between(1, 20) / 4}],
                "auto": n % 2 == 0,
            },
            log=None if n % 4 == 0 else {"by": None, "notes": [f"lot {n}"]},
            seal=bytes(stream.between(0, 255) for _ in range(4)),
            channels=tuple(stream.between(0, 9) for _ in range(stream.between(1, 3))),
            curve=tuple(stream.between(-20, 20) / 4 for _ in range(3)),
            units=tuple(stream.sample(_UNITS, stream.between(1, 2))),
        )
        for n in range(1, 7)
    ]
    readings = [
        Reading(id=f"RD-{n}", probe_id=f"PRB-{1 + n % 6}", value=stream.between(-400, 400) / 7) for n in range(1, 13)
    ]
    return Base(SCHEMA, [*probes, *readings])


ProbeId = Annotated[str, References("probes")]


@tool()
def get_probe(context: ToolContext, probe_id: ProbeId) -> object:
    """Read everything about a probe.

    Args:
        probe_id: The probe, such as PRB-3.
    """
    probe = context.state.get(Probe, probe_id)
    context.show(probe)
    return probe


@tool()
def plot_curve(context: ToolContext, probe_id: ProbeId) -> object:
    """Draw a probe's curve as a bar chart.

    Args:
        probe_id: The probe.
    """
    probe = context.state.get(Probe, probe_id)
    context.attach(bar_chart([value + 5 for value in probe.curve]))
    context.show(probe)
    return probe


def bar_chart(values: Sequence[float]) -> bytes:
    """A PNG of black bars on white: a pixel wide and as high as their values, 10 at most."""
    rows = (b"\0" + bytes(0 if value > 9 - row else 255 for value in values) for row in range(10))
    header = struct.pack(">IIBBBBB", len(values), 10, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(b"".join(rows), 9)), (b"IEND", b""))
    packed = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


@tool()
def list_readings(context: ToolContext, probe_id: ProbeId) -> object:
    """List what a probe has measured.

    Args:
        probe_id: The probe.
    """
    context.state.get(Probe, probe_id)
    readings = context.state.find(Reading, probe_id=probe_id)
    context.show(*readings)
    return readings


@tool(writes=True)
def calibrate(
    context: ToolContext,
    probe_id: ProbeId,
    offset: Annotated[float, Field(ge=-10, le=10)],
    curve: Annotated[list[float], Field(max_length=8)],
    channels: Annotated[list[int], Field(max_length=8)],
) -> object:
    """Set a probe's offset, curve and channels; its price falls by a tenth and its log says so.

    Args:
        probe_id: The probe.
        offset: What is added to each value.
        curve: The points of the correction curve.
        channels: The channels that it listens on.
    """
    probe = context.state.get(Probe, probe_id)
    probe = context.state.update(
        probe,
        offset=offset,
        curve=tuple(curve),
        channels=tuple(channels),
        price=(probe.price * 9 / 10).quantize(Decimal("0.01")),
        log={"by": context.actor, "offset": offset, "before": probe.log},
    )
    context.show(probe)
    return probe


@family("lab/mean-reading", level=1)
def mean_reading(draft: Draft) -> Task:
    """The mean of a probe's readings, the readings, and its channels in any order."""
    probe = draft.pick(Probe)
    values = [r.value for r in draft.state.find(Reading, probe_id=probe.id)]
    mean = sum(values) / len(values)
    answer: JsonObject = {"mean": round(mean, 3), "values": [*values], "channels": [*reversed(probe.channels)]}
    return Task(
        prompt=f"What is the `mean` of {probe.id}'s readings (to a thousandth), what are the `values`, in order of "
        "their ids, and on which `channels` does it listen?",
        rubric=[
            expect_read(probe),
            expect_answer(
                {
                    "mean": close(mean, within=0.001),
                    "values": [close(v, within=1e-6) for v in values],
                    "channels": in_any_order(probe.channels),
                }
            ),
        ],
        oracle=[
            call("get_probe", probe_id=probe.id),
            call("list_readings", probe_id=probe.id),
            call("finish", answer=answer),
        ],
        max_turns=8,
    )


def _calibration(draft: Draft) -> Task:
    probe = draft.pick(Probe)
    offset = draft.stream.between(-39, 39) / 4
    curve = [x + 0.25 for x in probe.curve]
    write = call("calibrate", probe_id=probe.id, offset=offset, curve=list(curve), channels=[4, 2])
    values: dict[str, object] = {
        "offset": offset,
        "curve": tuple(curve),
        "channels": (4, 2),
        "price": (probe.price * 9 / 10).quantize(Decimal("0.01")),
        "log": {"by": "EMP-1", "offset": offset, "before": probe.log},
    }
    return Task(
        prompt=f"Calibrate {probe.id}: offset {offset}, a quarter more on every point of its curve, channels 4 and 2, "
        "in this order.",
        rubric=[expect_read(probe), expect_change(probe, values, after=[f"saw-{probe.id}"])],
        oracle=[call("get_probe", probe_id=probe.id), write, call("finish")],
        max_turns=8,
    )


@family("lab/calibrate", level=1)
def calibrate_probe(draft: Draft) -> Task:
    """A probe is calibrated: every new column type is compared."""
    return _calibration(draft)


TOOLBOX = Toolbox((get_probe, plot_curve, list_readings, calibrate, *TYPED_CONTROL), prose_tool="reply")
LAB = World(
    name="lab",
    schema=SCHEMA,
    populate=populate,
    start=start,
    toolbox=TOOLBOX,
    surfaces={"generic": generic_surface(SCHEMA, TOOLBOX, role="technician")},
    role="technician",
    actor="EMP-1",
    briefing=lambda now: f"You are the technician EMP-1. It is {now:%Y-%m-%d}.",
    draft=Draft,
    families="worlds.lab",
    seeds={"train": (1, 2), "dev": (3,), "heldout": (4,), "heldout-policy": (5,)},
    instances={"train": 3, "dev": 1, "heldout": 1, "heldout-policy": 1},
    unseen_instances=1,
)
