"""What each part of the recipe is worth: arms that differ in one thing, trained for equal time, with several seeds."""

from palaestra.benchmarks.ablations.arms import ARMS, TABLES, AblationArm, AblationConfig, AblationTable
from palaestra.benchmarks.ablations.cells import AblationCell, CellKey, ablation_material, read_cells, run_cells
from palaestra.benchmarks.ablations.report import ablation_markdown, ablation_tables

__all__ = [
    "ARMS",
    "TABLES",
    "AblationArm",
    "AblationCell",
    "AblationConfig",
    "AblationTable",
    "CellKey",
    "ablation_markdown",
    "ablation_material",
    "ablation_tables",
    "read_cells",
    "run_cells",
]
