"""The interpreter that has vLLM."""

from pathlib import Path

import pytest

_PYTHON = Path(__file__).parents[2] / ".venv-vllm" / "bin" / "python"


def vllm_python() -> Path:
    """Its path; a test that needs it fails where it is missing, and says how to get it."""
    if not _PYTHON.exists():
        pytest.fail(f"{_PYTHON} is missing: `make .venv-vllm/vllm.stamp` builds it, `make test` does so")
    return _PYTHON
