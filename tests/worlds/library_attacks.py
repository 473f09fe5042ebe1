"""Attacks that a test world brings: one that repeats the solution, one that knows nothing and says so."""

from palaestra.envs import Instance, WorldAttack, WorldScript, call


def _repeats(instance: Instance) -> WorldScript:
    for one in instance.oracle:
        yield [one]


def _reads_the_request(instance: Instance) -> WorldScript:
    answers = yield [call("get_member", member_id="Ada Byron")]
    yield [call("reply", message=f"{len(answers)} answer(s) for {len(instance.messages[-1]['content'])} letters.")]


def _finds_nothing(_instance: Instance) -> WorldScript:
    yield from ()


ATTACKS = (
    WorldAttack(
        name="repeats-the-solution",
        tries="does the right work",
        play=_repeats,
        privileged=True,
        ceiling=100,
        worth="it",
    ),
    WorldAttack(
        name="reads-the-request",
        tries="answers with a count of letters",
        play=_reads_the_request,
        privileged=False,
        ceiling=20,
        worth="look-ups",
    ),
    WorldAttack(
        name="finds-nothing", tries="makes no call", play=_finds_nothing, privileged=False, ceiling=0, worth="nothing"
    ),
)
