"""Sandboxes: programs of an agent run in a fresh interpreter and call tools through the process that started it.

Covered by every backend, as the conformance tests check (`tests/tools/sandbox`):

- A program reads its own memory and Python's standard library. It writes no file, opens no socket, starts no process
  and no thread, sees no process of the host, and has no right that would change any of this.
- A program is stopped from outside if it exceeds its wall-clock time, its processor time or its number of calls. Its
  memory, its output, its error and the size of each call are bounded.
- The channel is its only way out. Everything that it writes there is either a call like any other, or stops it.
- Nothing of it remains when it ends: the next program finds the same environment.
- Hashes, `time`, `datetime`, `random`, `secrets`, `uuid` and `os.urandom` give the same results in every run.

Not covered:

- A fault in the kernel, in the processor (cache timing), or in Python's own C code beyond what the filter of system
  calls contains. For code from an adversary with such means, run Palaestra itself in a virtual machine.
- Denial of service within the limits: a program may use its seconds and its memory.
- Native code that asks the system for time or randomness, the order of sets of objects without their own hash, and
  whether a program near a time limit stays within it: replay of these is not guaranteed.
- In Docker, a program sees its own entries of `/proc` and those of its guard, and there the names of the engine's
  folders; it can open `/dev/null`.
- The content of a program's output. It is text of the agent, and no evidence of anything.

If a feature is missing, `Sandbox.check` raises `CapabilityError` and names it. No backend runs with weaker protection.
"""

from palaestra.registry import Registry
from palaestra.tools.sandbox.contract import (
    AnswerCall,
    CallAnswer,
    CodeResult,
    Guest,
    GuestEnd,
    Program,
    Sandbox,
    SandboxLimits,
    StopCause,
)
from palaestra.tools.sandbox.docker.backend import DockerSandbox
from palaestra.tools.sandbox.namespaces.backend import NamespaceSandbox
from palaestra.tools.sandbox.selection import SANDBOX_VARIABLE, sandbox_name
from palaestra.tools.sandbox.session import run_program
from palaestra.tools.sandbox.signatures import describe_client, function_texts

SANDBOXES: Registry[Sandbox] = Registry("sandbox")
SANDBOXES.register(DockerSandbox.name, DockerSandbox())
SANDBOXES.register(NamespaceSandbox.name, NamespaceSandbox())

__all__ = [
    "SANDBOXES",
    "SANDBOX_VARIABLE",
    "AnswerCall",
    "CallAnswer",
    "CodeResult",
    "DockerSandbox",
    "Guest",
    "GuestEnd",
    "NamespaceSandbox",
    "Program",
    "Sandbox",
    "SandboxLimits",
    "StopCause",
    "describe_client",
    "function_texts",
    "run_program",
    "sandbox_name",
]
