"""What every engine must keep, written once; `tests/trainers/engines` runs it over each of them."""

import pytest

pytest.register_assert_rewrite("engines.bench", "engines.plain", "engines.claims")
