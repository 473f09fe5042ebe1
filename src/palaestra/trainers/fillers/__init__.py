"""Fillers of columns that neither rollouts nor passes provide: judges, further rollouts, demonstrations."""

from palaestra.trainers.fillers.assemble import BatchFiller
from palaestra.trainers.fillers.chat import ChatModelConfig
from palaestra.trainers.fillers.choose import ChosenFiller, choose_fillers, comparisons_of, needs_of
from palaestra.trainers.fillers.filler import FILLERS, FillColumn, Filler, NumberKind, check_column, column, fillers_of
from palaestra.trainers.fillers.inputs import SHOWN, FillerInput, Need
from palaestra.trainers.fillers.judge import JudgeLabels, JudgeScores, read_judgements
from palaestra.trainers.fillers.reference_solution import (
    Probe,
    ReferenceSolutionLogprobs,
    answer_calls,
    mean_logprobs,
    probes_of,
)
from palaestra.trainers.fillers.rewards import RewardLabels

__all__ = [
    "FILLERS",
    "SHOWN",
    "BatchFiller",
    "ChatModelConfig",
    "ChosenFiller",
    "FillColumn",
    "Filler",
    "FillerInput",
    "JudgeLabels",
    "JudgeScores",
    "Need",
    "NumberKind",
    "Probe",
    "ReferenceSolutionLogprobs",
    "RewardLabels",
    "answer_calls",
    "check_column",
    "choose_fillers",
    "column",
    "comparisons_of",
    "fillers_of",
    "mean_logprobs",
    "needs_of",
    "probes_of",
    "read_judgements",
]
