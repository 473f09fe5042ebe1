"""The session core: the operations that all protocols of the server share, independent of any protocol."""

from palaestra.serving.core.answer_codes import CODES, STATUS, code_of, error_json, error_of
from palaestra.serving.core.core import NOT_BEGUN, SessionCore
from palaestra.serving.core.item_batch import ItemBatch, ItemReader
from palaestra.serving.core.items import CreateItem
from palaestra.serving.core.ledger import EpisodeEntry, EpisodeLedger, LedgerOutcome, SessionCounts
from palaestra.serving.core.limits import SessionLimits
from palaestra.serving.core.operations import OPERATIONS, BatchAnswer, Operation, OperationRunner
from palaestra.serving.core.session import StoredSnapshot
from palaestra.serving.core.worlds import SWITCHES, ServedWorld, ServedWorlds, TaskHandles

__all__ = [
    "CODES",
    "NOT_BEGUN",
    "OPERATIONS",
    "STATUS",
    "SWITCHES",
    "BatchAnswer",
    "CreateItem",
    "EpisodeEntry",
    "EpisodeLedger",
    "ItemBatch",
    "ItemReader",
    "LedgerOutcome",
    "Operation",
    "OperationRunner",
    "ServedWorld",
    "ServedWorlds",
    "SessionCore",
    "SessionCounts",
    "SessionLimits",
    "StoredSnapshot",
    "TaskHandles",
    "code_of",
    "error_json",
    "error_of",
]
