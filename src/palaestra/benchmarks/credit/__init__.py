"""Measures how close methods' credit for turns is to near-exact advantages, computed from forks of episodes."""

if __name__ != "palaestra.benchmarks.credit":
    raise ImportError(
        f"this folder is palaestra.benchmarks.credit, not {__name__}; write `import palaestra.benchmarks.credit`"
    )

from palaestra.benchmarks.credit.critics import CriticBudget
from palaestra.benchmarks.credit.methods import METHODS, estimator_of
from palaestra.benchmarks.credit.near_exact import TurnAdvantages, near_exact_advantages
from palaestra.benchmarks.credit.report import (
    credit_document,
    credit_markdown,
    credit_panels,
    credit_picture,
    credit_tables,
)
from palaestra.benchmarks.credit.resampling import CreditEstimator, resample_estimates
from palaestra.benchmarks.credit.run import CreditConfig, CreditReading, CriticReading, measure_credit
from palaestra.benchmarks.credit.sample import CreditDesign, TaskSample
from palaestra.benchmarks.credit.scores import CreditFigures, MethodScore, ScoredTurns, score_method

__all__ = [
    "METHODS",
    "CreditConfig",
    "CreditDesign",
    "CreditEstimator",
    "CreditFigures",
    "CreditReading",
    "CriticBudget",
    "CriticReading",
    "MethodScore",
    "ScoredTurns",
    "TaskSample",
    "TurnAdvantages",
    "credit_document",
    "credit_markdown",
    "credit_panels",
    "credit_picture",
    "credit_tables",
    "estimator_of",
    "measure_credit",
    "near_exact_advantages",
    "resample_estimates",
    "score_method",
]
