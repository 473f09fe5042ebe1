"""The package `bfcl-eval`, imported so that it needs no vendor's library and writes into a folder that is thrown away.

Its table of models imports every vendor's library, and its checkers ask that table one thing: whether dots in names of
functions were made underscores. A table of one model stands in for it.

One of its APIs asks for today's date, to work out a traveller's age. There it is always the day of the release.
"""

import os
import sys
import tempfile
import time
import types
from datetime import datetime
from importlib import import_module
from typing import Any, Self

MODEL = "palaestra"
"""The name of the one model."""

os.environ["BFCL_PROJECT_ROOT"] = tempfile.mkdtemp(prefix="bfcl-")
os.environ["TZ"] = "UTC"  # the trading API tells times of day
time.tzset()
_models = types.ModuleType("bfcl_eval.constants.model_config")
_models.__dict__["MODEL_CONFIG_MAPPING"] = {MODEL: types.SimpleNamespace(underscore_to_dot=True)}
sys.modules[_models.__name__] = _models

# Any: what is installed where this runs, and not where types are checked.
AST: Any = import_module("bfcl_eval.eval_checker.ast_eval.ast_checker")
BACKEND: Any = import_module("bfcl_eval.constants.executable_backend_config")
CATEGORIES: Any = import_module("bfcl_eval.constants.category_mapping")
CONFIG: Any = import_module("bfcl_eval.constants.eval_config")
ENUMS: Any = import_module("bfcl_eval.constants.enums")
MULTI_TURN: Any = import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker")
PROMPTS: Any = import_module("bfcl_eval.constants.default_prompts")
TYPES: Any = import_module("bfcl_eval.constants.type_mappings")
UTILS: Any = import_module("bfcl_eval.utils")


class _Released(datetime):
    @classmethod
    def today(cls) -> Self:
        return cls(2026, 3, 23)


_travel: Any = import_module(BACKEND.CLASS_FILE_PATH_MAPPING["TravelAPI"])
_travel.datetime = _Released
