"use strict";
// The page says everything without this script, which sorts, filters, copies and changes colours.
(() => {
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));
  root.classList.add("js");

  // ---- light and dark -------------------------------------------------------------------------
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const toggle = byId("theme");
  // A page opened from a file may have no storage: the choice then lasts as long as the page.
  const stored = (value) => {
    try {
      if (value) localStorage.setItem("pacbound-theme", value);
      return localStorage.getItem("pacbound-theme");
    } catch {
      return value || null;
    }
  };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const label = () => {
    toggle.textContent = isDark() ? "Light" : "Dark";
    toggle.setAttribute("aria-pressed", String(isDark()));
    toggle.setAttribute("aria-label", "Dark colours");
  };
  const chosen = stored();
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  toggle.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    stored(root.dataset.theme);
    label();
  });
  dark.addEventListener("change", label);
  label();

  // ---- copying --------------------------------------------------------------------------------
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch { // not offered on pages that are not served securely
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const words = button.dataset.words || button.textContent;
    button.dataset.words = words;
    await copy(byId(button.dataset.copy).textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = words), 1500);
  });

  // ---- folding --------------------------------------------------------------------------------
  const reveal = () => {
    const target = location.hash.length > 1 && byId(location.hash.slice(1));
    const folded = target && target.closest("details");
    if (!folded) return;
    folded.hidden = false;
    folded.open = true;
    folded.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    // The same link again changes no address.
    if (event.target.closest('a[href^="#"]')) setTimeout(reveal);
  });
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("details:not([open])");
    closed.forEach((details) => (details.open = true));
  });
  addEventListener("afterprint", () => closed.forEach((details) => (details.open = false)));
  reveal();

  const table = byId("certificates");
  if (!table) return;
  const cards = all("details.card");
  const unfold = byId("unfold");
  unfold.addEventListener("click", () => {
    const open = cards.some((card) => !card.open && !card.hidden);
    cards.forEach((card) => (card.open = open));
    unfold.textContent = open ? "Close all" : "Open all";
  });

  // ---- sorting --------------------------------------------------------------------------------
  const body = table.tBodies[0];
  const headings = all("thead th", table);
  const sort = (heading) => {
    const place = headings.indexOf(heading);
    const numeric = "numeric" in heading.dataset;
    const down = heading.getAttribute("aria-sort") === "ascending";
    headings.forEach((other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => row.cells[place].dataset.value;
    const compare = (a, b) => (numeric ? a - b : a < b ? -1 : a > b ? 1 : 0);
    const rows = Array.from(body.rows).sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === "" || y === "") return (x === "") - (y === ""); // what is missing stays last
      return down ? compare(y, x) : compare(x, y);
    });
    body.append(...rows);
  };
  headings.forEach((heading) => {
    const button = heading.querySelector("button");
    if (!button) return;
    button.disabled = false;
    button.addEventListener("click", () => sort(heading));
  });

  // ---- filtering ------------------------------------------------------------------------------
  const form = document.querySelector(".filters");
  const selects = all("select", form);
  const filter = () => {
    const words = byId("find").value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of body.rows) {
      const shown =
        words.every((word) => row.dataset.words.includes(word)) &&
        selects.every(({ value, dataset }) => {
          const cell = row.querySelector(`td[data-field="${dataset.field}"]`);
          return value === "" || cell.dataset.value === value;
        });
      row.hidden = !shown;
      byId(row.dataset.section).closest("details").hidden = !shown;
      count += shown;
    }
    byId("count").textContent = `${count} of ${body.rows.length}`;
    byId("nothing").hidden = count > 0;
  };
  form.addEventListener("input", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (event) => event.preventDefault());
})();
