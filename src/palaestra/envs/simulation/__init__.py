"""A simulated world: a language model answers the tools in place of code, beside the true world.

It is a control. A model that makes up answers makes up state, and rewards that are computed over that state can be
wrong. `SimulatedEpisode` plays the same calls in both worlds and keeps both scores; `ErrorSimulator` is a simulator
with known error rates, and `measure_simulation` counts false rewards. It is not meant to train on.
"""

from palaestra.envs.simulation.error_simulator import ErrorSimulator
from palaestra.envs.simulation.measurement import (
    POLICIES,
    SimulatedPolicy,
    SimulationOutcome,
    SimulationReport,
    measure_simulation,
    play_simulation,
    simulation_table,
)
from palaestra.envs.simulation.preferences import (
    PreferenceReport,
    WorkPair,
    measure_preferences,
    preference_table,
    sibling_pairs,
)
from palaestra.envs.simulation.simulated_episode import SimulatedEpisode, SimulatedTurn, can_simulate

__all__ = [
    "POLICIES",
    "ErrorSimulator",
    "PreferenceReport",
    "SimulatedEpisode",
    "SimulatedPolicy",
    "SimulatedTurn",
    "SimulationOutcome",
    "SimulationReport",
    "WorkPair",
    "can_simulate",
    "measure_preferences",
    "measure_simulation",
    "play_simulation",
    "preference_table",
    "sibling_pairs",
    "simulation_table",
]
