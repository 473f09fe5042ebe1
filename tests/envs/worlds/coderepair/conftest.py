"""`make docker-test` runs the tests that need an engine."""

import os

collect_ignore = (
    [] if "docker" in os.environ.get("PALAESTRA_TEST_SANDBOXES", "").split() else ["test_code_repair_in_docker.py"]
)
