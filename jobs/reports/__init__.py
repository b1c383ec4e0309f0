"""Reports of an answer: HTML, Markdown, SARIF, JUnit XML, Parquet tables, and the JSON that all of them are made of."""

from jobs.reports.asked import Asked, completed
from jobs.reports.write import prepare, read_answer, target_of, write_reports

__all__ = ["Asked", "completed", "prepare", "read_answer", "target_of", "write_reports"]
