"""Sandboxes: programs of an agent run in a fresh interpreter, and call tools through whoever started it.

Covered, by every backend, as the conformance tests have it (`tests/tools/sandbox`):

- A program reads its own memory and Python's standard library. It writes no file, opens no socket, starts no process
  and no thread, sees no process of the host, and has no right that would change any of this.
- A program is stopped from outside when it takes too long by the wall clock or by processor time, or makes too many
  calls. Its memory, its output, its error and each of its calls are bounded.
- Its one way out is the channel. Whatever it writes there is a call like any other, or stops it.
- Nothing of it is left when it ends: the next program finds what the first one found.
- Hashes, `time`, `datetime`, `random`, `secrets`, `uuid` and `os.urandom` give the same in every run.

Not covered:

- A fault in the kernel, in the processor (timing of caches), or in Python's own C code beyond what the filter of system
  calls contains. For code from an adversary with such means, run Palaestra itself in a virtual machine.
- Denial of service within the limits: a program may use its seconds and its memory.
- Native code that asks the system for time or chance, the order of sets of objects without a hash of their own, and
  whether a program that comes close to a limit of time keeps it: none of them replays for certain.
- In Docker, a program sees its own entries of `/proc`, those of the guard that ends it, and there the names of the
  engine's folders; it can open `/dev/null`.
- What a program says. Its output is text of the agent, and no evidence of anything.

Where a feature is missing, `Sandbox.check` raises `CapabilityError` and names it. No backend goes on with less.
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
