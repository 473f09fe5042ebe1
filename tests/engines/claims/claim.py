"""How a claim is listed, and what many of them begin with."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from engines.bench import Bench, until
from palaestra.trainers.engines.engine import Completion, Engine, Sampling, TurnRequest

Claim: TypeAlias = Callable[[Bench], Awaitable[None]]
LISTED: list[Claim] = []


def claim(function: Claim) -> Claim:
    """List a claim."""
    LISTED.append(function)
    return function


def plainly(limit: int, *, temperature: float = 1.0, top_p: float = 1.0) -> Sampling:
    """A distribution that nothing but the limit ends a turn of."""
    return Sampling(limit=limit, stop=(), temperature=temperature, top_p=top_p)


async def begun_turn(bench: Bench, engine: Engine) -> tuple[TurnRequest, asyncio.Future[Completion]]:
    """A long turn of which something has been drawn."""
    request = bench.request(bench.ids(40, "begun"), plainly(min(240, engine.context - 60)))
    before = engine.stats().drawn
    begun = asyncio.ensure_future(engine.generate(request))
    await until(lambda: engine.stats().drawn > before + 3)
    return request, begun
