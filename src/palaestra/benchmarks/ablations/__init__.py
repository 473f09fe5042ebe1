"""The value of each part of the recipe: arms that differ in one part, trained for equal time, with several seeds."""

from palaestra.benchmarks.ablations.arm import AblationArm, AblationConfig, AblationTable
from palaestra.benchmarks.ablations.arms import ARMS, TABLES
from palaestra.benchmarks.ablations.cells import AblationCell, CellKey, read_cells, run_cells
from palaestra.benchmarks.ablations.report import ablation_tables
from palaestra.benchmarks.ablations.sites import SITES, AblationSite, site_materials

__all__ = [
    "ARMS",
    "SITES",
    "TABLES",
    "AblationArm",
    "AblationCell",
    "AblationConfig",
    "AblationSite",
    "AblationTable",
    "CellKey",
    "ablation_tables",
    "read_cells",
    "run_cells",
    "site_materials",
]
