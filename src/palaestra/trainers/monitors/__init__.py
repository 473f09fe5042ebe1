"""Monitoring of a run: figures of each step, alarms, and the trackers that write both.

Trackers with heavy packages are in their own modules, `tensorboard` and `wandb`; `TRACKERS` opens them.
"""

from palaestra.trainers.monitors.alarms import Alarm, AlarmAction, AlarmConfig, Alarms, RolloutAlarmConfig
from palaestra.trainers.monitors.collapse import Collapse, collapse
from palaestra.trainers.monitors.difficulty import difficulty_metrics, solve_rates
from palaestra.trainers.monitors.policy import policy_metrics
from palaestra.trainers.monitors.reporter import StageEvent, StageReporter, step_figures
from palaestra.trainers.monitors.rollouts import rollout_metrics, sampled_tokens
from palaestra.trainers.monitors.templates import template_metrics
from palaestra.trainers.monitors.tracker import JsonLinesTracker, Tracker, read_log
from palaestra.trainers.monitors.trackers import TRACKERS, OpenTracker, tracker_named

__all__ = [
    "TRACKERS",
    "Alarm",
    "AlarmAction",
    "AlarmConfig",
    "Alarms",
    "Collapse",
    "JsonLinesTracker",
    "OpenTracker",
    "RolloutAlarmConfig",
    "StageEvent",
    "StageReporter",
    "Tracker",
    "collapse",
    "difficulty_metrics",
    "policy_metrics",
    "read_log",
    "rollout_metrics",
    "sampled_tokens",
    "solve_rates",
    "step_figures",
    "template_metrics",
    "tracker_named",
]
