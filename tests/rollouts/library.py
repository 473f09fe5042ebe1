"""The library, small and quick: its tasks as jobs, a codec of each format, and the oracle's turns as scripts."""

from collections.abc import Iterable
from functools import cache

from palaestra.agents import oracle, rollout
from palaestra.agents.hosted import WorldSpec
from palaestra.envs import ToolEnv
from palaestra.tools import CHAT_FORMATS
from palaestra.trainers.codec import Codec, train_tokenizer
from palaestra.trainers.data.demonstration import demonstration, render_episode
from palaestra.trainers.engines.noise import noise_key
from palaestra.trainers.rollouts.job import RolloutJob
from palaestra.trajectory import Episode, Tokens
from palaestra.transcript import transcript_of
from rollouts.engine import Scripts, Writer, from_noise
from worlds.registration import LIBRARY_ID


def library(form: str = "compact", *, imports: Iterable[str] = ("worlds",), **switches: object) -> WorldSpec:
    """How a library is made whose agent writes in `form`."""
    return WorldSpec(env_id=LIBRARY_ID, action_format=form, switches=switches, imports=tuple(imports))


@cache
def tasks() -> tuple[str, ...]:
    """The ids of the library's."""
    return tuple(_env().task_set.ids("train"))


def jobs(count: int, *, groups: int | None = None, seed: int = 0) -> list[RolloutJob]:
    """Jobs over the library's tasks; `count // groups` of each group."""
    size = count // (groups or count)
    return [
        RolloutJob(
            trajectory=f"t{n}",
            group=f"g{n // size}",
            task=tasks()[(n // size) % len(tasks())],
            seed=n // size % 5,
            noise=noise_key(seed, n),
        )
        for n in range(count)
    ]


@cache
def shown() -> tuple[Episode, ...]:
    """Every task, played by its oracle."""
    env = _env()
    return tuple(rollout(env, oracle(env.oracle), name="oracle", seed=0, task=task) for task in tasks())


@cache
def codec(form: str = "compact") -> Codec:
    """A tokenizer that has read the oracle's episodes."""
    chat = CHAT_FORMATS.get(form)
    return Codec(
        train_tokenizer([render_episode(transcript_of(episode), chat) for episode in shown()], chat, size=700), chat
    )


@cache
def scripts(form: str = "compact") -> tuple[Tokens, ...]:
    """The oracle's episodes as the policy would have read and written them."""
    return tuple(demonstration(transcript_of(episode), codec(form)) for episode in shown())


def solving(form: str = "compact") -> Scripts:
    """Writes what the oracle does."""
    return Scripts(scripts(form))


def babbling(form: str = "compact", *, length: int = 6) -> Writer:
    """Writes noise, in the words of the library; turns have `length` tokens on average."""
    words = sorted({n for tokens in scripts(form) for n, own in zip(tokens.ids, tokens.sampled, strict=True) if own})
    end = codec(form).end_id
    return from_noise([word for word in words if word != end], end=end, length=length)


def _env() -> ToolEnv:
    env = library().make().unwrapped
    assert isinstance(env, ToolEnv)
    return env
