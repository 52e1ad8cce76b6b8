"""Certificates and a training log to make pages from: the vectors that a checker must accept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pacbound.certificate.format import Certificate

VECTORS = Path(__file__).parents[2] / "pacbound/certificate/vectors"
GOOD = tuple(
    sorted(path.stem.removeprefix("accepted-") for path in VECTORS.glob("accepted-*.json"))
)
CASES = {
    "gibbs": "gibbs-initialised-exact-per-example-xi",
    "sampled": "gibbs-initialised-gaussian-chernoff-maurer",
    "classes": "gibbs-every-claim-per-weights",
    "draw": "draw-learned-binomial",
    "elsewhere": "draw-elsewhere-every-claim",
    "learned": "gibbs-learned-gaussian-betting-catoni",
    "vote": "vote-tandem-learned-gaussian-betting-xi",
    "fixed": "fixed-every-claim",
    "centre": "fixed-centre-default",
    "negative": "draw-negative-density",
    "vacuous": "vote-tandem-vacuous",
}

# Each would run, or say something else, if it came onto the page as it is.
ATTACKS = (
    "<img src=x onerror=\"window.attacked = 'image'\">",
    "</script><script>window.attacked = 'script'</script>",
    "\"' onmouseover=window.attacked=1 autofocus onfocus=window.attacked=1 x='",
    "<!-- <script> ]]> {{ 7 * 7 }} {% raw %} ${window.attacked=1} &lt;b&gt;",
    "javascript:window.attacked=1",
    "émoji 🙂 漢字 \u0130 \u00ad",
)
ATTACK = " ".join(ATTACKS[:2])  # of less than 200 characters, as names may have


def record(name: str, **made: Any) -> dict[str, Any]:
    """A good vector as parsed JSON; `made` is checked by nobody and may be changed."""
    found: dict[str, Any] = json.loads((VECTORS / f"accepted-{name}.json").read_bytes())
    found["made"] |= made
    return found


def case(name: str) -> dict[str, Any]:
    """One of the cases as if it had been trained and certified by commands."""
    found = record(
        CASES[name],
        command="pacbound certify mlp.pt -o certificates/mlp.json",
        training_command="pacbound train mlp-600 --data mnist -o mlp.pt",
        times={"train": "1100.3", "certify": "18"},
        settings={"objective": "quadratic", "epochs": "12"},
    )
    found["data"]["name"] = "mnist" if found["data"]["classes"] == 10 else "letters"
    return found


def certificate(name: str) -> Certificate:
    """One of the cases."""
    return Certificate.from_mapping(case(name))


def text(found: dict[str, Any]) -> str:
    return json.dumps(found, ensure_ascii=False, indent=1)


def hostile() -> dict[str, Any]:
    """A certificate that verifies, with attacks in every text that may be anything."""
    found = case("gibbs")
    found["data"]["name"] = ATTACK
    found["prior"]["variances"][0]["name"] = ATTACK
    long = "long" * 500
    found["made"] |= {
        "date": ATTACKS[4],
        "command": " ".join(ATTACKS),
        "training_command": long,
        "software": {"pacbound": ATTACKS[2], "python": ATTACKS[3]},
        "machine": {f"fact {i}": ATTACKS[i % 6] for i in range(300)},
        "settings": {"objective": ATTACKS[0]} | {f"setting {i}": long for i in range(299)},
    }
    return found


def forged() -> dict[str, Any]:
    """A certificate that claims more than its figures prove."""
    found = case("gibbs")
    found["claims"][0]["bound"] = "0.0123450000"
    found["sentence"] = "the error is at most 1.24 %"
    return found


def write_folder(folder: Path) -> Path:
    """One of each kind, what does not verify, and JSON of another kind."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in CASES:
        (folder / f"{name}.json").write_text(text(case(name)), encoding="utf-8")
    (folder / "<img src=x onerror=alert(1)>.json").write_text(text(hostile()), encoding="utf-8")
    (folder / "forged.json").write_text(text(forged()), encoding="utf-8")
    (folder / "cut.json").write_text(text(case("gibbs"))[:500], encoding="utf-8")
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
