"""One offline file that verifies the certificates dropped on it."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from pacbound import __version__
from pacbound.report.page.policy import content_policy, read_part

__all__ = ["verifier_page"]


def verifier_page() -> str:
    """The page as HTML, with its styles and scripts in it."""
    environment = Environment(
        loader=PackageLoader("pacbound.report", "page"), autoescape=True, undefined=StrictUndefined
    )
    style = read_part("page.css") + read_part("verify.css")
    colours, verifier, script = map(read_part, ("page.js", "verifier.js", "verify-page.js"))
    return environment.get_template("verify.html").render(
        policy=content_policy(style, (colours, verifier, script)),
        style=style,
        colours=colours,
        verifier=verifier,
        script=script,
        version=__version__,
    )
