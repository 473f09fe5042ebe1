"""A diagnosis as an HTML page: sentences, then plots and tables, then an unsolved episode of each family."""

from palaestra.benchmarks.curves import svg
from palaestra.benchmarks.diagnosis.diagnosis import Diagnosis
from palaestra.benchmarks.diagnosis.findings import MOST, TrainingFinding, headline
from palaestra.benchmarks.diagnosis.panels import diagnosis_panels
from palaestra.benchmarks.diagnosis.tables import diagnosis_tables
from palaestra.benchmarks.viewer import render_page


def diagnosis_page(diagnosis: Diagnosis, findings: list[TrainingFinding]) -> str:
    """Render the page as one HTML string."""
    shown, further = findings[:MOST], findings[MOST:]
    return render_page(
        [episode for _, episode in diagnosis.examples],
        title=f"Diagnosis of {diagnosis.directory.resolve().name}",
        lead=headline(diagnosis),
        findings=[(_sentence(one), one.remedy) for one in shown],
        figures=[svg(panels) for panels in diagnosis_panels(diagnosis)],
        tables=diagnosis_tables(diagnosis),
        notes=[f"{_sentence(one)} {one.remedy}" for one in further] + page_notes(diagnosis),
        cells=[f"{stage}, unsolved" for stage, _ in diagnosis.examples],
    )


def page_notes(diagnosis: Diagnosis) -> list[str]:
    """Notes on the records for the reader of the page."""
    notes = [
        "The first and the last third of a stage are compared, with groups as units; noise is two standard errors.",
        "Points are what the world paid. What parts of an objective pay in training is not recorded for each episode.",
    ]
    if diagnosis.silent:
        notes.append(f"No rollouts are recorded of {', '.join(diagnosis.silent)}.")
    return notes


def _sentence(finding: TrainingFinding) -> str:
    return f"{finding.stage}: {finding.sentence}" if finding.stage else finding.sentence
