"""Started by torchrun: join the processes, leave them, and write the threads of gloo before and after."""

import os
import sys
from pathlib import Path

from palaestra.trainers.process_group import join_process_group


def count_gloo_threads() -> int:
    """How many threads of this process carry messages between processes."""
    return sum("gloo" in path.read_text() for path in Path("/proc/self/task").glob("*/comm"))


if __name__ == "__main__":
    with join_process_group() as group:
        assert group is not None
        if not group.first:
            group.follow()
        during = count_gloo_threads()
    Path(sys.argv[1], os.environ["RANK"]).write_text(f"{during} {count_gloo_threads()}")
