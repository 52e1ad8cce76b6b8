// The page on which anybody drops certificates: reads files, has them checked, shows what they say.
//
// Whatever comes from a file is inserted as a text node and in no other way.
(() => {
  "use strict";
  const { verify, parts } = globalThis.pacboundVerifier;
  const byId = (id) => document.getElementById(id);
  const MAX_BYTES = 4194304; // check 1.1
  const MANY = 50; // claims that are shown before somebody asks for the others

  /** An element with attributes and children, which are elements or texts. */
  const make = (name, attributes = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const tag = (name, ...children) => make(name, {}, ...children);

  // ---- words ------------------------------------------------------------------------------------
  const grouped = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, "\u202f");

  const subjectOf = (claim) => {
    switch (claim.subject) {
      case "true-class":
        return `true class ${claim.class}`;
      case "predicted-class":
        return `predicted class ${claim.class}`;
      case "group":
        return `group “${claim.group}”`;
      case "answered":
        return "answered inputs";
      default:
        return "all inputs";
    }
  };
  const lossOf = ({ loss, cost }) => {
    if (loss === "cost") return `cost “${cost}”`;
    return loss === "abstention" ? "abstention" : "error";
  };
  const nameOf = (claim) => `${lossOf(claim)}, ${subjectOf(claim)}`;

  const PREDICTORS = {
    "gibbs": "randomised: fresh weights for every prediction",
    "draw": "one network, drawn from the posterior",
    "vote-gibbs": "majority vote, through the risk of one network",
    "vote-tandem": "majority vote, through the risk of pairs",
    "fixed": "fixed before the counted examples were seen",
  };

  // ---- from the mean loss to the bound ----------------------------------------------------------
  const FACTORS = { "vote-gibbs": 2, "vote-tandem": 4 };

  /** The parts that the bound of a claim is the sum of: [kind, name, amount]. For drawings only. */
  const steps = (certificate, claim) => {
    const [empirical, bound] = [Number(claim.empirical), Number(claim.bound)];
    const found = [["risk", "observed", empirical]];
    let reached = empirical;
    const reach = (kind, name, value) => {
      const next = Math.min(Math.max(value, reached), bound);
      found.push([kind, name, next - reached]);
      reached = next;
    };
    if (claim.limit !== undefined) {
      reach("sampling", "Monte Carlo allowance", Number(claim.limit));
    }
    const factor = FACTORS[certificate.predictor] ?? 1;
    const isBinomial = certificate.predictor === "fixed" && claim.loss !== "cost";
    const why = isBinomial ? "binomial allowance" : "complexity and confidence";
    reach(isBinomial ? "confidence" : "complexity", why, factor === 1 ? bound : bound / factor);
    if (factor > 1) reach("vote", "from networks to their vote", bound);
    return found;
  };

  /** A rate in per cent, rounded up like the sentence's figures. */
  const shown = (rate) => (Number(rate) === 0 ? "0.00" : parts.pct(rate));
  const percent = (rate) => `${(100 * rate).toFixed(rate >= 0.001 || rate === 0 ? 2 : 6)} %`;

  const waterfall = (certificate) => {
    const drawing = tag("div");
    const most = Math.max(...certificate.claims.map(({ bound }) => Number(bound)));
    const all = certificate.claims.map((claim) => [claim, steps(certificate, claim)]);
    const kinds = new Map(all.flatMap(([, list]) => list.map(([kind, name]) => [kind, name])));
    const keys = make("ul", { class: "keys" });
    for (const [kind, name] of kinds) keys.append(make("li", { class: `key ${kind}` }, name));
    drawing.append(keys);
    shownInParts(drawing, all, ([claim, list]) => {
      const stack = make("div", { class: "stack", "aria-hidden": "true" });
      for (const [kind, , amount] of list) {
        if (amount <= 0) continue;
        const bar = make("div", { class: kind });
        bar.style.width = `${(100 * amount) / (most || 1)}%`;
        stack.append(bar);
      }
      const sums = list.map(([, name, amount]) => `${percent(amount)} ${name}`).join(" + ");
      const bound = `≤ ${parts.pct(claim.bound)} %`;
      return make(
        "div",
        { class: "step-row" },
        make("div", { class: "of" }, tag("span", nameOf(claim)), tag("b", bound)),
        stack,
        make("p", { class: "sums" }, sums),
      );
    });
    return drawing;
  };

  /** Rows of which the first are shown, and a button that shows the others. */
  const shownInParts = (place, items, row) => {
    place.append(...items.slice(0, MANY).map(row));
    if (items.length <= MANY) return;
    const isTable = place.tagName === "TBODY";
    const button = make("button", { type: "button", class: "quiet" }, `Show all ${items.length}`);
    const holder = isTable ? tag("tr", make("td", { colspan: "5" }, button)) : tag("p", button);
    button.addEventListener("click", () => holder.replaceWith(...items.slice(MANY).map(row)));
    place.append(holder);
  };

  // ---- what an accepted certificate says --------------------------------------------------------
  const number = (text, title, extra = "") =>
    make("td", { class: `number ${extra}`, ...(title ? { title } : {}) }, text);

  const claimsTable = (certificate) => {
    const isSampled = certificate.claims[0].limit !== undefined;
    const heading = (name, isNumber = true) =>
      make("th", { scope: "col", ...(isNumber ? { class: "number" } : {}) }, name);
    const head = tag("tr", heading("subject", false), heading("m"), heading("empirical, %"));
    if (isSampled) head.append(heading("limit, %"));
    head.append(heading("bound, %"));
    const body = tag("tbody");
    shownInParts(body, certificate.claims, (claim) => {
      const row = tag("tr", make("th", { scope: "row" }, nameOf(claim)), number(grouped(claim.m)));
      row.append(number(shown(claim.empirical), claim.empirical));
      if (isSampled) row.append(number(shown(claim.limit), claim.limit));
      row.append(number(`≤ ${parts.pct(claim.bound)}`, claim.bound, "bound"));
      return row;
    });
    return make(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Claims" },
      make("table", { class: "claims" }, tag("thead", head), body),
    );
  };

  const facts = (pairs) => {
    const list = make("dl", { class: "facts" });
    for (const [name, value] of pairs) {
      if (value === undefined || value === "") continue;
      const isDigest = /^[0-9a-f]{64}$/.test(value);
      list.append(tag("dt", name), tag("dd", isDigest ? tag("code", value) : value));
    }
    return list;
  };

  const details = (certificate) => {
    const { data, model, prior, ledger, evidence, bound, made } = certificate;
    const candidates = BigInt(ledger.recipe.candidates) * BigInt(ledger.user.candidates);
    const { counted, number: place } = ledger.certificates;
    return facts([
      ["data", data.name],
      ["counted examples", `${grouped(data.m)} of ${grouped(data.examples)}`],
      ["exact copies", `${grouped(data.duplicates)} (${data.copies})`],
      ["predictor", PREDICTORS[certificate.predictor]],
      ["δ", certificate.delta],
      ["inequality", `${bound.inequality} (selected: ${bound.selected})`],
      ["KL or ln(dq/dp)", evidence && `${evidence.nats} nats (${evidence.kind})`],
      ["code of the prior's choices", `${bound.code} nats`],
      ["ledger", `${bound.ledger} nats: candidates ${candidates}, adaptive looks ` +
        `${ledger.recipe.looks + ledger.user.looks}, certificates ${counted} ${place}`],
      ["prior", prior.kind],
      ["recipe", model.recipe],
      ["posterior", model.posterior],
      ["parameters", model.parameters && grouped(model.parameters)],
      ["SHA-256 of the data", data.sha256],
      ["SHA-256 of the model", model.sha256],
      ["SHA-256 of the prior", prior.sha256],
      ["SHA-256 of the drawn network", evidence?.weights_sha256],
      ["date", made.date],
      ["command", made.command],
    ]);
  };

  const accepted = (certificate) => [
    make("p", { class: "said" }, certificate.sentence),
    tag("h3", "Claims"),
    claimsTable(certificate),
    tag("h3", "Where the bounds come from"),
    waterfall(certificate),
    tag("details", tag("summary", "Figures and digests"), details(certificate)),
  ];

  const rejected = ({ check, reason }) => {
    const what = check === null ? "This file was not checked." : `Check ${check} failed.`;
    const note = "What the file claims is not shown, because the file does not prove it.";
    return [
      make("p", { class: "alert bad" }, tag("strong", what), reason),
      make("p", { class: "source" }, note),
    ];
  };

  // ---- files ------------------------------------------------------------------------------------
  const counts = { accepted: 0, rejected: 0 };
  const showCounts = () => {
    const { accepted: good, rejected: bad } = counts;
    const all = good + bad;
    byId("outcome").textContent =
      all === 0 ? "" : `${all} ${all === 1 ? "file" : "files"}: ${good} accepted, ${bad} rejected`;
    byId("clear").hidden = all === 0;
  };

  const show = (name, verdict, digest) => {
    const word = verdict.accepted ? "accepted" : "rejected";
    counts[word] += 1;
    const mark = make("span", { class: `verdict ${word}` }, word.toUpperCase());
    const card = make(
      "article",
      { class: `result ${word}` },
      tag("header", tag("h2", name), mark),
      ...(verdict.accepted ? accepted(verdict.certificate) : rejected(verdict)),
    );
    if (digest) {
      card.append(make("p", { class: "source" }, "SHA-256 of the file: ", tag("code", digest)));
    }
    byId("results").append(card);
    showCounts();
  };

  const check = (name, bytes) => {
    // A file that is too large is read only so far that this is seen.
    const digest = bytes.length > MAX_BYTES ? "" : parts.sha256(bytes);
    show(name, verify(bytes), digest);
  };

  const checkFiles = async (files) => {
    for (const file of files) {
      byId("outcome").textContent = `checking ${file.name} …`;
      await new Promise((resolve) => setTimeout(resolve)); // lets the page show that
      let bytes;
      try {
        bytes = new Uint8Array(await file.slice(0, MAX_BYTES + 1).arrayBuffer());
      } catch {
        show(file.name, { accepted: false, check: null, reason: "The file cannot be read." });
        continue;
      }
      check(file.name, bytes);
    }
  };

  // Files that come while others are being checked wait for them.
  let queue = Promise.resolve();
  const enqueue = (files) => {
    const list = Array.from(files);
    queue = queue.then(() => checkFiles(list));
  };

  byId("choose").addEventListener("click", () => byId("files").click());
  byId("files").addEventListener("change", ({ target }) => {
    enqueue(target.files);
    target.value = ""; // so that the same file can be chosen again
  });

  const drop = byId("drop");
  const holdsFiles = (event) => Array.from(event.dataTransfer?.types ?? []).includes("Files");
  // Anywhere on the page, because a file that misses the box would replace the page.
  for (const kind of ["dragenter", "dragover"]) {
    addEventListener(kind, (event) => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) drop.classList.remove("over");
  });
  addEventListener("drop", (event) => {
    drop.classList.remove("over");
    if (!holdsFiles(event)) return;
    event.preventDefault();
    enqueue(event.dataTransfer.files);
  });

  byId("pasted").addEventListener("submit", (event) => {
    event.preventDefault();
    const { value } = byId("text");
    if (value.trim() === "") return;
    check("pasted text", new TextEncoder().encode(value));
    byId("text").value = "";
  });

  byId("clear").addEventListener("click", () => {
    byId("results").replaceChildren();
    counts.accepted = 0;
    counts.rejected = 0;
    showCounts();
    byId("choose").focus();
  });
})();
