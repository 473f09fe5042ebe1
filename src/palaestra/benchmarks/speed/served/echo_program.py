"""OpenEnv's side of the comparison: an echo environment on its server, and its client. It needs `openenv-core`.

    python echo_program.py serve DESCRIPTOR SESSIONS
    python echo_program.py play SESSIONS SECONDS URL...

The environment answers a message with the same message and does nothing else. It is asynchronous, so that the server
runs it directly and not in a thread per session. `play` opens the sessions, prints a line, waits for a line of input,
plays all sessions concurrently, and prints the number of steps and the seconds. It was written for openenv-core 0.3.0
and imports nothing from Palaestra.
"""

import asyncio
import json
import socket
import sys
from importlib import import_module
from time import perf_counter
from typing import Any

_MESSAGE = {"message": "Hello, World!"}


def make_app(sessions: int) -> Any:
    """Make the application of the echo environment."""
    base: Any = import_module("openenv.core.env_server.interfaces")
    types: Any = import_module("openenv.core.env_server.types")
    pydantic: Any = import_module("pydantic")
    action = pydantic.create_model("EchoAction", __base__=types.Action, message=(str, ...))
    observation = pydantic.create_model("EchoObservation", __base__=types.Observation, message=(str, ...))

    class EchoEnvironment(base.Environment):  # type: ignore[misc]
        SUPPORTS_CONCURRENT_SESSIONS = True
        _steps = 0

        def reset(self, **_: Any) -> Any:
            self._steps = 0
            return observation(message="", reward=0.0, done=False)

        def step(self, action: Any, **_: Any) -> Any:
            self._steps += 1
            return observation(message=action.message, reward=0.0, done=False)

        async def reset_async(self, **kwargs: Any) -> Any:
            return self.reset(**kwargs)

        async def step_async(self, action: Any, **kwargs: Any) -> Any:
            return self.step(action, **kwargs)

        @property
        def state(self) -> Any:
            return types.State(step_count=self._steps)

    make: Any = import_module("openenv.core.env_server").create_fastapi_app
    return make(EchoEnvironment, action, observation, max_concurrent_envs=sessions)


def serve(descriptor: int, sessions: int) -> None:
    """Serve on a socket that is already listening."""
    uvicorn: Any = import_module("uvicorn")
    config = uvicorn.Config(make_app(sessions), log_level="critical", access_log=False)
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=descriptor)])


async def play(sessions: int, seconds: float, urls: list[str]) -> None:
    """Play sessions that are spread over the servers."""
    client: Any = import_module("openenv.core.generic_client").GenericEnvClient
    envs = [client(base_url=urls[number % len(urls)]) for number in range(sessions)]
    for env in envs:
        await env.reset()
        await env.step(_MESSAGE)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    begun = perf_counter()
    steps = sum(await asyncio.gather(*(_play_one(env, begun + seconds) for env in envs)))
    sys.stdout.write(json.dumps({"steps": steps, "seconds": perf_counter() - begun}) + "\n")
    sys.stdout.flush()
    for env in envs:
        await env.disconnect()


async def _play_one(env: Any, end: float) -> int:
    steps = 0
    while perf_counter() < end:
        answer = await env.step(_MESSAGE)
        assert answer.observation["message"] == _MESSAGE["message"], answer
        steps += 1
    return steps


def main() -> None:
    """Run the command that the arguments name."""
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]), int(sys.argv[3]))
    else:
        asyncio.run(play(int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]))


if __name__ == "__main__":
    main()
