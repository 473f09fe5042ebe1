"""Whether `import tau2` gives tau2-bench. A package of the same name on PyPI has nothing to do with it."""

import sys
from importlib.metadata import PackageNotFoundError, metadata
from importlib.util import find_spec
from pathlib import Path

PARTS = ("registry.py", "environment/environment.py", "evaluator/evaluator_env.py", "domains/telecom/environment.py")
"""By which tau2-bench is known, relative to its folder."""
_WAY = (
    "get tau2-bench with `git clone https://github.com/sierra-research/tau2-bench`, and install it with "
    "`palaestra suites install tau2 --from FOLDER`"
)


def refusal() -> str | None:
    """Why what is found as `tau2` is not to be imported; `None` where it is tau2-bench. Nothing is imported."""
    spec = find_spec("tau2")
    if spec is None:
        return f"tau2-bench is not installed for {sys.executable}; {_WAY}"
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    if any(all((folder / part).exists() for part in PARTS) for folder in folders):
        return None
    where = ", ".join(map(str, folders)) or str(spec.origin)
    return (
        f"`import tau2` gives {where}{_calls_itself()}, which is not tau2-bench: `tau2` on PyPI is an unrelated "
        f"package for physics and chemistry. Remove it with `{sys.executable} -m pip uninstall tau2`; then {_WAY}"
    )


def _calls_itself() -> str:
    try:
        found = metadata("tau2")
    except PackageNotFoundError:
        return ""
    return f" (version {found['Version']}: {found.json.get('summary', 'no summary')})"


def demand() -> None:
    """Go on only with tau2-bench.

    Raises:
        ImportError: `tau2` is something else, or nothing.
    """
    if (why := refusal()) is not None:
        raise ImportError(why)
