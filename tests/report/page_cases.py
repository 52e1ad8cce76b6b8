"""Certificates and a training log to make pages from."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "certificate"))

from certificate_cases import DRAWN, LEARNED, SAMPLED, VOTE, Primitives, issue

CASES = {
    "gibbs": Primitives(),
    "sampled": SAMPLED,
    "draw": DRAWN,
    "learned": LEARNED,
    "vote": VOTE,
    "vacuous": Primitives(m=600, errors=30_000),
}

# Each would run, or say something else, if it came onto the page as it is.
ATTACKS = (
    "<img src=x onerror=\"window.attacked = 'image'\">",
    "</script><script>window.attacked = 'script'</script>",
    "\"' onmouseover=window.attacked=1 autofocus onfocus=window.attacked=1 x='",
    "<!-- <script> ]]> {{ 7 * 7 }} {% raw %} ${window.attacked=1} &lt;b&gt;",
    "javascript:window.attacked=1",
    "\u202edesrever \u2028 \x00 \x1b[31m émoji 🙂 漢字",
)
LONG = "long" * 250_000


def hostile() -> dict[str, Any]:
    """A certificate that verifies, with an attack in every text that may be anything."""
    attack = " ".join(ATTACKS)
    record = issue().to_mapping()
    record["data"]["name"] = attack
    record["model"]["recipe"] = attack
    record["prior"]["variances"][0]["layers"] = [attack]
    record["seeds"]["derivation"] = attack
    record["made"] |= dict.fromkeys(("pacbound", "python", "torch", "date", "command"), attack)
    record["made"]["training_command"] = LONG
    deep: list[Any] = []
    for _ in range(500):
        deep = [deep]
    settings = {attack: attack, "objective": attack, "long": LONG, "deep": deep, LONG[:9000]: 1}
    record["made"]["settings"] = settings | {f"setting {i}": i for i in range(2000)}
    return record


def forged() -> dict[str, Any]:
    """A certificate that claims more than its figures prove."""
    record = issue().to_mapping()
    record["claim"]["risk_bound"] = 0.012345
    record["claim"]["sentence"] = "the error is at most 1.24 %"
    return record


def write_folder(folder: Path) -> Path:
    """One of each kind, what does not verify, and JSON of another kind."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, primitives in CASES.items():
        (folder / f"{name}.json").write_text(issue(primitives).to_json(), encoding="utf-8")
    (folder / "better.json").write_text(issue(replace(CASES["gibbs"], errors=9000)).to_json())
    (folder / "<img src=x onerror=alert(1)>.json").write_text(json.dumps(hostile()))
    (folder / "forged.json").write_text(json.dumps(forged()), encoding="utf-8")
    (folder / "cut.json").write_text(issue().to_json()[:500], encoding="utf-8")
    (folder / "net.inputs.json").write_text('{"alignment": "none"}', encoding="utf-8")
    write_log(folder / "mlp.log.jsonl")  # the certificates' commands name mlp.pt
    return folder


def write_log(path: Path, epochs: int = 6) -> None:
    """Epochs whose figures fall."""
    rows = (
        {
            "epoch": epoch,
            "phase": "bound",
            "seconds": 10.0 * epoch,
            "risk": 0.4 / epoch,
            "bound": 0.6 / epoch,
            "kl": 4000.0 - 100 * epoch,
        }
        for epoch in range(1, epochs + 1)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
