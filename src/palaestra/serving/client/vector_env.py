"""Several worlds on a server as one vector environment, which sends all turns in one message.

Observations, rewards, ends, infos and automatic resets equal those of Gymnasium's `SyncVectorEnv` over the same
environments in process. A fault of one world raises an error; as with every vector environment, call `reset` then.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gymnasium.vector import AutoresetMode, SyncVectorEnv

from palaestra.errors import ActionError, PalaestraError, RequestError, SessionError, SessionLostError
from palaestra.records import Message
from palaestra.serving.client.env import ServedEnv
from palaestra.serving.client.hidden_key import HiddenKeySpec
from palaestra.steps import Returned

_BATCH = 256
"""Items of one message; a server takes 1,024 and 4 MiB by default."""


class _BatchedEnv(ServedEnv):
    """A served environment whose next answer may already have arrived with those of others."""

    _answers: deque[dict[str, Any] | PalaestraError]

    def _next_answer(self) -> dict[str, Any]:
        answer = self._answers.popleft()
        if isinstance(answer, SessionError):
            raise SessionLostError(f"{answer}; the server was restarted, and the episode is void") from answer
        if isinstance(answer, PalaestraError):
            raise answer
        return answer

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[tuple[Message, ...], dict[str, Any]]:
        if self._answers:
            return self._begin(self._next_answer())
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> Returned:
        return self._take_step(self._next_answer()) if self._answers else super().step(action)


class ServedVectorEnv(HiddenKeySpec, SyncVectorEnv):  # pyright: ignore[reportIncompatibleVariableOverride]
    """Sessions of one server as a vector environment.

    Args:
        num_envs: The number of environments.
        autoreset_mode: Gymnasium's mode; a reset in the same step takes an extra message.
        settings: Arguments of `ServedEnv`.

    Raises:
        PalaestraError: as `ServedEnv`, and if the server has no room for that many sessions.
    """

    def __init__(
        self, num_envs: int, *, autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP, **settings: Any
    ) -> None:
        first = _BatchedEnv(**settings)
        self._members: list[Any] = [
            first,
            *map(first._fork, first.session.create_more(num_envs - 1)),
        ]  # Any: a fork is of its class
        for member in self._members:
            member._answers = deque()
        left = iter(self._members)
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            [lambda: next(left)] * num_envs, autoreset_mode=autoreset_mode
        )

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> Any:
        """Like `SyncVectorEnv.reset`, with one message for all. Any: Gymnasium's types."""
        mask = None if options is None else options.get("reset_mask")
        chosen = [number for number in range(self.num_envs) if mask is None or mask[number]]
        rest = {name: value for name, value in (options or {}).items() if name != "reset_mask"}
        seeds: Sequence[int | None]
        if seed is None or isinstance(seed, int):
            seeds = [None if seed is None else seed + number for number in range(self.num_envs)]
        else:
            seeds = list(seed)
        if len(seeds) == self.num_envs:  # otherwise Gymnasium raises its error
            self._ask_resets({number: (seeds[number], rest) for number in chosen})
        return self._take(lambda: super(ServedVectorEnv, self).reset(seed=seed, options=options))

    def step(self, actions: Any) -> Any:
        """Like `SyncVectorEnv.step`, with one message for all turns. Any: Gymnasium's types.

        Raises:
            ActionError: there is not one action for each environment, or one is invalid; no turn was sent.
            RequestError: an action holds something that is not JSON; no turn was sent.
            PalaestraError: a world failed, or its episode is over; the other worlds have played their turns.
        """
        given = list(actions)
        ended = [bool(over) and self.autoreset_mode == AutoresetMode.NEXT_STEP for over in self._autoreset_envs]
        if len(given) != self.num_envs:
            raise ActionError(f"{len(given)} actions for {self.num_envs} environments; give one for each")
        items = {number: self._read_turn(number, given[number]) for number, over in enumerate(ended) if not over}
        self._ask_resets({number: (None, {}) for number, over in enumerate(ended) if over})
        self._ask_all("step", items)
        return self._take(lambda: super(ServedVectorEnv, self).step(actions))

    def _read_turn(self, number: int, action: Any) -> dict[str, Any]:
        """The item of one environment's `step`; raises as `step` does."""
        try:
            item: dict[str, Any] = self._members[number]._step_item(action)
        except (ActionError, RequestError) as error:
            raise type(error)(f"action {number} of 0 to {self.num_envs - 1}: {error}") from error
        return item

    def _ask_resets(self, wanted: Mapping[int, tuple[int | None, Mapping[str, Any]]]) -> None:
        """Reset some environments, each with a seed and options; a lost session is created again."""
        items = {number: self._members[number]._reset_item(*choice) for number, choice in wanted.items()}
        self._ask_all("reset", items)
        for number, item in items.items():
            member = self._members[number]
            if isinstance(member._answers[0], SessionError | SessionLostError):
                member.session.lose()
                member._answers[0] = member.session.reset({**item, "request": member.connection.request_key()})

    def _ask_all(self, operation: str, items: Mapping[int, dict[str, Any]]) -> None:
        """Send the items of some environments, by number, and keep the answers for them."""
        numbers = list(items)
        for start in range(0, len(numbers), _BATCH):
            chosen = numbers[start : start + _BATCH]
            asked = [{"session": self._members[number].session.id, **items[number]} for number in chosen]
            answers = self._members[0].connection.call_all(operation, asked)
            for number, answer in zip(chosen, answers, strict=True):
                self._members[number]._answers.append(answer)

    def _take(self, run: Callable[[], Any]) -> Any:
        """Run a function that takes the answers, and discard any left, so that no later turn reads them."""
        try:
            return run()
        finally:
            for member in self._members:
                member._answers.clear()
