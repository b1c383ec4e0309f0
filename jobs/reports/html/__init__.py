"""The report as a page."""

from jobs.reports.html.page import page

__all__ = ["page"]
