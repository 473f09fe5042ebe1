"""What `palaestra bench saves` measures, in this process; the command gives each part of it a process of its own."""

import pytest

from palaestra.benchmarks.speed.training import SaveCosts, SavesReport, saves, saves_markdown, saves_table
from palaestra.benchmarks.speed.training.scale import TrainingScale


@pytest.fixture(scope="module")
def report(scale: TrainingScale, tmp_path_factory: pytest.TempPathFactory) -> SavesReport:
    costs: list[SaveCosts] = []
    for who in ("all weights", "adapters of rank 16"):
        folder = tmp_path_factory.mktemp("saves")
        saved = saves._save(who, scale.train, folder, 1)
        costs.append(SaveCosts(who=who, **saved, **saves._resume(who, scale.train, folder, 1)))
    return SavesReport(machine={"threads": 1}, setting={}, costs=tuple(costs))


def test_a_save_of_all_weights_holds_three_numbers_for_each_and_one_of_adapters_less(report: SavesReport) -> None:
    whole, adapters = report.costs
    assert whole.trained == whole.parameters > adapters.trained
    assert whole.disk_bytes > 12 * whole.trained
    assert 12 * adapters.trained < adapters.disk_bytes < whole.disk_bytes


def test_every_figure_is_measured(report: SavesReport) -> None:
    for one in report.costs:
        assert min(one.step_seconds, one.wait_seconds, one.save_seconds, one.resume_seconds) > 0
        assert one.save_bytes >= one.rest_bytes
    assert [row[0] for row in saves_table(report).rows][-3:] == [
        "training waits for a save",
        "until the save stands",
        "resumption",
    ]
    assert "| until the save stands |" in saves_markdown(report)
