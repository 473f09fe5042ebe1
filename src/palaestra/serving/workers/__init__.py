"""How session cores are run: in a thread of the server's process, or in worker processes, behind one interface."""

from palaestra.serving.workers.core_runner import CoreRunner
from palaestra.serving.workers.core_thread import CoreThread
from palaestra.serving.workers.garbage_collection import collect_rarely
from palaestra.serving.workers.worker_host import WorkerSettings
from palaestra.serving.workers.worker_name import WorkerName, worker_of
from palaestra.serving.workers.worker_pool import WorkerPool
from palaestra.serving.workers.worker_process import WorkerTimeouts

__all__ = [
    "CoreRunner",
    "CoreThread",
    "WorkerName",
    "WorkerPool",
    "WorkerSettings",
    "WorkerTimeouts",
    "collect_rarely",
    "worker_of",
]
