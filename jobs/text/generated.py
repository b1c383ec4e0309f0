"""Generated data."""

from __future__ import annotations

from jobs.evaluation.generation import GenerationReport


def report_text(report: GenerationReport) -> str:
    """What `shiq generate` prints."""
    lines = [
        f"{report.out}: {', '.join(report.files)}",
        f"{report.triples:,} triples (class {report.class_assertions:,}, role {report.role_assertions:,}, "
        f"data {report.data_assertions:,}), {report.departments} departments, {report.seconds:.1f} s",
    ]
    if report.insertions:
        lines.append(
            f"{report.insertions:,} insertions, {report.faults} planted contradictions, {report.culprits} culprits"
        )
    return "\n".join(lines)
