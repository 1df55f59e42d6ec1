"use strict";
// A copy of a run: filters, search, the chosen row. What it shows is in the page already; the address behind "#" is its state.

const lines = [...document.querySelectorAll("[data-line]")];
const form = document.querySelector("#filters");
const words = new Map();

function wordsOf(line) {
  const row = line.dataset.row;
  if (!words.has(row)) {
    const body = document.getElementById(`row-${row}`).content;
    const texts = [...body.querySelectorAll(".field .text:not(.rendered)")].map((one) => one.textContent);
    words.set(row, [line.dataset.id, ...texts].join("\n").toLowerCase());
  }
  return words.get(row);
}

function fits(line, asked) {
  const { status, criteria, verdict, rule, people, score, flags, dimensions } = line.dataset;
  const is = { status, criteria, verdict, rule, people };
  return Object.keys(is).every((name) => !asked.get(name) || asked.get(name) === is[name])
    && (!asked.get("flag") || flags.split(" ").includes(asked.get("flag")))
    && (!asked.get("dimension") || dimensions.split(" ").includes(asked.get("dimension")))
    && (!asked.get("min") || Number(score) >= Number(asked.get("min").replace(",", ".")))
    && (!asked.get("max") || Number(score) <= Number(asked.get("max").replace(",", ".")))
    && (!asked.get("q")?.trim() || wordsOf(line).includes(asked.get("q").trim().toLowerCase()));
}

const asked = () => new URLSearchParams(location.hash.slice(1));

function choose(row) {
  const body = row && document.getElementById(`row-${row}`);
  for (const line of lines) line.classList.toggle("chosen", line.dataset.row === row);
  if (!body || document.querySelector("#row").dataset.shown === row) return;
  document.querySelector("#row").replaceChildren(body.content.cloneNode(true));
  document.querySelector("#row").dataset.shown = row;
  drawTexts();
}

function drawTexts() {
  const raw = document.body.dataset.raw === "1";
  for (const one of document.querySelectorAll("#row .rendered")) one.hidden = raw;
  for (const one of document.querySelectorAll("#row .source")) one.hidden = !raw;
  for (const one of document.querySelectorAll("#row [data-raw]")) {
    one.hidden = !document.querySelector("#row .rendered");
    one.setAttribute("aria-pressed", raw);
  }
}

function draw() {
  const wanted = asked();
  for (const one of form.elements) if (one.name) one.value = wanted.get(one.name) ?? "";
  for (const line of lines) line.hidden = !fits(line, wanted);
  const shown = lines.filter((line) => !line.hidden).length;
  const count = document.querySelector("#count");
  count.textContent = count.dataset.of.replace("{shown}", shown).replace("{all}", lines.length);
  for (const one of document.querySelectorAll("a.part")) one.hash = new URLSearchParams([...wanted].filter(([name]) => name !== "row")).toString();
  choose(wanted.get("row"));
}

function ask(changed) {
  const wanted = asked();
  for (const [name, value] of Object.entries(changed)) value ? wanted.set(name, value) : wanted.delete(name);
  history.replaceState(null, "", `#${wanted}`);
  draw();
}

if (form) {
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => ask({ [event.target.name]: event.target.value }));
  form.addEventListener("reset", () => { history.replaceState(null, "", "#"); setTimeout(draw); });
  addEventListener("hashchange", draw);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-line] a");
    const raw = event.target.closest("[data-raw]");
    if (raw) { document.body.dataset.raw = raw.getAttribute("aria-pressed") === "true" ? "" : "1"; drawTexts(); }
    const within = event.target.closest("#row a[href^='#']");
    const step = within && document.getElementById(within.getAttribute("href").slice(1));
    if (step) { event.preventDefault(); step.scrollIntoView({ block: "nearest" }); step.focus({ preventScroll: true }); }
    if (!link) return;
    event.preventDefault();
    ask({ row: link.closest("[data-line]").dataset.row });
    if (!matchMedia("(min-width: 70rem)").matches) document.querySelector("#row").scrollIntoView({ block: "start" });
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { j: 1, k: -1 }[event.key];
    const all = lines.filter((line) => !line.hidden);
    if (!step || !all.length) return;
    const at = all.findIndex((line) => line.classList.contains("chosen"));
    const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
    ask({ row: next.dataset.row });
    next.scrollIntoView({ block: "nearest" });
  });
  draw();
}
