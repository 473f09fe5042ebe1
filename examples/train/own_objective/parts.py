"""An objective of your own: a column of the batch, the filler that fills it in, and two parts that use it.

`preset.toml` beside this file names them, and `run.toml` trains with the preset.
"""

from dataclasses import dataclass

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.fillers import FillerInput, column
from palaestra.trainers.objectives import Surrogate, part


@column("news_U", filler="mentions", meaning="how many ids the answer to the turn named for the first time")
def count_news(given: FillerInput) -> Tensor:
    """Counts the ids that no earlier answer of the episode named."""
    counts: list[float] = []
    for episode in given.episodes:
        known: set[str] = set()
        for turn in episode.turns:
            named = {id for event in turn.events for id in event.mentioned}
            counts.append(len(named - known))
            known |= named
    return given.batch.reward_U.new_tensor(counts)


@part("reward", "news-bonus", formula="r + coefficient * min(news, most)", requires=("news_U",))
@dataclass(frozen=True, slots=True, kw_only=True)
class NewsBonus:
    """A bonus for answers that say something new, for policies that ask the same again and again."""

    coefficient: float
    """The pay for each id, in the objective's unit: with this preset a solved task returns 1."""
    most: float = 3.0
    """Ids of one turn that count."""

    def __call__(self, batch: TokenBatch) -> Tensor:
        """What each turn is paid, [U]."""
        return batch.reward_U + self.coefficient * batch.column("news_U").clamp_max(self.most)


@part("trust", "tanh-gate", formula="C = r sech(r - 1)^2", pulls=False)
def tanh_gate(surrogate: Surrogate) -> Tensor:
    """A soft clip: the gradient fades as the ratio leaves 1.

    Where the advantage is 0 there is no gradient, which `pulls=False` declares: such trajectories are left out of a
    step. Without the declaration a step sees all of them.
    """
    return -surrogate.advantage_N * (surrogate.log_ratio_N.exp() - 1).tanh()
