"""A certificate as a notebook shows it: the verdict, the sentence and the waterfall."""

from __future__ import annotations

from markupsafe import Markup

from pacbound.certificate import checker
from pacbound.certificate.format import Certificate
from pacbound.printable import printable
from pacbound.report.page.policy import read_part
from pacbound.report.page.waterfall import waterfall
from pacbound.report.terms import principal, terms

__all__ = ["certificate_html"]

DRAWING = ("svg ", ".waterfall", ".step", ".risk", ".confidence")  # the rules of the waterfall


def certificate_html(certificate: Certificate) -> Markup:
    """What the checker accepts, with the parts of its bound. A rejected claim is not shown."""
    verdict = checker.verify(certificate.to_json().encode())
    if not verdict.accepted:
        return Markup('<div class="pacbound"><b>REJECTED</b>: {} {}</div>').format(
            verdict.check, printable(verdict.reason)
        )
    claim = principal(certificate)
    about = "" if len(certificate.claims) == 1 else f"The bars are of the claim: {claim.scope}."
    return Markup(
        '<style>{}</style><div class="pacbound"><p><b>VERIFIED</b> {}</p><p>{}</p>{}</div>'
    ).format(
        _style(), printable(certificate.sentence), printable(about), waterfall(terms(certificate))
    )


def _style() -> Markup:
    """The colours and the waterfall of the report, in its light theme, for this element alone."""
    sheet = str(read_part("page.css"))
    colours = sheet[sheet.index("{") + 1 : sheet.index("}")].replace("light dark", "light")
    rules = [line for line in sheet.splitlines() if line.startswith(DRAWING)]
    own = "background: var(--ground); color: var(--text); padding: 12px 16px; max-width: 860px;"
    return Markup(".pacbound {{ {} {}\n{}\n}}").format(
        *map(Markup, (colours, own, "\n".join(rules)))
    )
