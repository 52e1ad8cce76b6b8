"""`pacbound report`: one page about one or more certificates, in one file."""

from pacbound.certificate.gathering import Gathered, gather
from pacbound.report.page.document import document
from pacbound.report.page.entry import Entry, read_entry
from pacbound.report.page.summary import Summary, summarise
from pacbound.report.page.watched import with_monitors

__all__ = [
    "Entry",
    "Gathered",
    "Summary",
    "document",
    "gather",
    "read_entry",
    "summarise",
    "with_monitors",
]
