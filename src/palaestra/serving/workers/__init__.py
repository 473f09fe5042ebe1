"""Runners of session cores: a thread of the server's process, or workers, behind one interface.

Workers are processes, or Ray actors. The latter are in `ray_link`, which imports Ray.
"""

from palaestra.serving.workers.core_runner import CoreRunner
from palaestra.serving.workers.core_thread import CoreThread
from palaestra.serving.workers.garbage_collection import collect_rarely
from palaestra.serving.workers.process_link import ProcessLauncher
from palaestra.serving.workers.session_worker import WorkerTimeouts
from palaestra.serving.workers.worker_host import WorkerSettings
from palaestra.serving.workers.worker_link import WorkerLauncher, WorkerLink
from palaestra.serving.workers.worker_name import WorkerName, worker_of
from palaestra.serving.workers.worker_pool import WorkerPool

__all__ = [
    "CoreRunner",
    "CoreThread",
    "ProcessLauncher",
    "WorkerLauncher",
    "WorkerLink",
    "WorkerName",
    "WorkerPool",
    "WorkerSettings",
    "WorkerTimeouts",
    "collect_rarely",
    "worker_of",
]
