"""`pacbound policy`: a first policy, from the certificates that are there."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pacbound_cli.options import json_option

__all__ = ["policy"]


@click.command()
@click.argument("certificates", metavar="CERT...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default="policy.yaml",
    show_default=True,
    help="The policy to write.",
)
@click.option("--force", is_flag=True, help="Replace a policy that is already there.")
@json_option
def policy(certificates: tuple[str, ...], output: Path, force: bool, as_json: bool) -> None:
    """Write a first policy that the certificates CERT keep, with comments, for you to edit.

    CERT may be a folder.

    `pacbound verify --policy` holds certificates against it. The certificates are checked first,
    and no policy is written from one that is rejected.

    \b
    Example:
      pacbound policy certificates/*.json -o policy.yaml
      pacbound verify certificates/*.json --policy policy.yaml
    """
    from pacbound.certificate.checker import check_file
    from pacbound.certificate.gathering import in_folders
    from pacbound.errors import CertificateError, FileError
    from pacbound.files import ensure_writable, write_whole
    from pacbound.policy import first_policy

    if output.exists() and not force:
        raise FileError(f"{output} is already there: edit it, or replace it with --force")
    ensure_writable(output)
    accepted = {}
    for path in in_folders(certificates):
        verdict = check_file(path)
        if verdict.certificate is None:
            reason = f"{verdict.check} {verdict.reason}".strip()
            raise CertificateError(f"no policy is written: {path} is rejected: {reason}")
        accepted[path] = verdict.certificate
    content = first_policy(accepted, str(output)).encode()
    write_whole(output, lambda stream: stream.write(content))
    if as_json:
        click.echo(json.dumps({"policy": str(output), "certificates": list(accepted)}, indent=1))
    else:
        names = " ".join(certificates[:3]) + (" …" if len(certificates) > 3 else "")
        click.echo(f"written to {output}; edit it, then: pacbound verify {names} --policy {output}")
