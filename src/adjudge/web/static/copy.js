"use strict";
// A copy of a run: filters, search, order, the chosen row. What it shows is in the page already; the address behind "#" is its state.

const lines = [...document.querySelectorAll("[data-line]")];
const form = document.querySelector("#filters");
const shownRow = document.querySelector("#row");
const frame = document.querySelector("#frame");
const MOST_SHOWN = 1000;
const judged = new Map(lines.map((line) => [line, JSON.parse(line.dataset.judged)]));
const words = new Map();

function wordsOf(line) {
  const row = line.dataset.row;
  if (!words.has(row)) {
    const kept = document.getElementById(`words-${row}`);
    const body = document.getElementById(`row-${row}`)?.content;
    const texts = kept ? [kept.content.textContent] : [line.querySelector("th").textContent, ...[...body.querySelectorAll(".field .text:not(.rendered)")].map((one) => one.textContent)];
    words.set(row, texts.join("\n").toLowerCase());
  }
  return words.get(row);
}

const number = (text) => Number(text.replace(",", "."));

// A line is shown where one of its judgments is all that is asked for.
function fits(line, asked) {
  const text = asked.get("q")?.trim().toLowerCase();
  return judged.get(line).some((one) =>
    ["status", "criteria", "verdict", "rule", "people", "system"].every((name) => !asked.get(name) || asked.get(name) === one[name])
    && ["flag", "dimension"].every((name) => !asked.get(name) || one[name].includes(asked.get(name)))
    && (!asked.get("min") || one.score !== null && one.score >= number(asked.get("min")))
    && (!asked.get("max") || one.score !== null && one.score <= number(asked.get("max"))))
    && (!text || wordsOf(line).includes(text));
}

const asked = () => new URLSearchParams(location.hash.slice(1));

// Rows lie worst first. A column sorts by what its cells show, equal ones as on the served page; where no value stands, last.
const written = new Map(lines.map((line, place) => [line, place]));
const headings = [...document.querySelectorAll("thead a.sort")];
const collator = new Intl.Collator(document.documentElement.lang, { numeric: true });
const NUMBER = /^[-+]?\d+([.,]\d+)?(?=$|\/\d+$)/;
const isDown = (sort) => sort.startsWith("-") || ["best", "last"].includes(sort);

function valueOf(line, sort, heading) {
  if (["row", "last"].includes(sort)) return Number(line.dataset.row);
  if (sort === "best") {
    const scores = judged.get(line).map((one) => one.score).filter((score) => score !== null);
    return scores.length ? Math.min(...scores) : null;
  }
  const cell = line.cells[heading.cellIndex];
  const shown = cell.querySelector(".verdict, .begins") ?? (/^-?(verdict$|criterion:)/.test(sort) ? null : cell);
  const text = shown?.textContent.trim() ?? "";
  const value = NUMBER.exec(text)?.[0];
  return value ? number(value) : text === "" || text === "–" ? null : text;
}

function compare(x, y) {
  if (typeof x === "string" && typeof y === "string") return collator.compare(x, y);
  return typeof x === typeof y ? (x > y) - (x < y) : typeof x === "number" ? -1 : 1;
}

function order(sort) {
  const heading = headings.find((one) => [one.dataset.up, one.dataset.down].includes(sort || "worst"))?.closest("th");
  for (const one of headings) one.closest("th").removeAttribute("aria-sort");
  heading?.setAttribute("aria-sort", isDown(sort) ? "descending" : "ascending");
  const values = new Map(lines.map((line) => [line, heading && sort ? valueOf(line, sort, heading) : written.get(line)]));
  const sign = isDown(sort) ? -1 : 1, ties = sort === "best" ? -1 : 1;
  lines.sort((a, b) => {
    const [x, y] = [values.get(a), values.get(b)];
    const difference = x === null || y === null ? (x === null) - (y === null) : sign * compare(x, y);
    return difference || ties * (a.dataset.row - b.dataset.row);
  });
  document.querySelector("#rows").append(...lines);
  document.body.dataset.sort = sort;
}

function choose(row) {
  const line = lines.find((one) => judged.get(one).some((each) => String(each.row) === row));
  for (const one of lines) one.classList.toggle("chosen", one === line);
  if (shownRow.dataset.alone === undefined) shownRow.hidden = !line; // without a row the list has the whole width
  if (!row || shownRow.dataset.shown === row) return;
  const body = document.getElementById(`row-${row}`);
  if (frame && line?.dataset.file) {
    frame.hidden = false;
    frame.contentWindow.location.replace(new URL(`${line.dataset.file}#row=${row}`, location.href));
  } else if (body) {
    shownRow.replaceChildren(body.content.cloneNode(true));
    drawTexts();
  } else return;
  shownRow.dataset.shown = row;
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
  const sort = wanted.get("sort") ?? "";
  if (sort !== (document.body.dataset.sort ?? "")) order(sort);
  const fit = lines.filter((line) => fits(line, wanted));
  const shown = new Set(fit.slice(0, MOST_SHOWN));
  for (const line of lines) line.hidden = !shown.has(line);
  const count = document.querySelector("#count");
  const grouped = (rows) => rows.toLocaleString(document.documentElement.lang);
  count.textContent = count.dataset.of.replace("{shown}", grouped(fit.length)).replace("{all}", grouped(lines.length));
  document.querySelector("#first").hidden = fit.length <= MOST_SHOWN;
  for (const one of document.querySelectorAll("a.part")) one.hash = new URLSearchParams([...wanted].filter(([name]) => name !== "row")).toString();
  choose(wanted.get("row"));
}

function ask(changed) {
  const wanted = asked();
  for (const [name, value] of Object.entries(changed)) value ? wanted.set(name, value) : wanted.delete(name);
  history.replaceState(null, "", `#${wanted}`);
  draw();
}

// A file of rows shows the one that its address names.
if (shownRow?.dataset.alone !== undefined) {
  addEventListener("hashchange", () => choose(asked().get("row")));
  document.addEventListener("click", onClick);
  choose(asked().get("row"));
}

function onClick(event) {
  const raw = event.target.closest("[data-raw]");
  if (raw) { document.body.dataset.raw = raw.getAttribute("aria-pressed") === "true" ? "" : "1"; drawTexts(); }
  const within = event.target.closest("#row a[href^='#']");
  const step = within && document.getElementById(within.getAttribute("href").slice(1));
  if (step) { event.preventDefault(); step.scrollIntoView({ block: "nearest" }); step.focus({ preventScroll: true }); }
}

if (form) {
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => ask({ [event.target.name]: event.target.value }));
  form.addEventListener("reset", () => { history.replaceState(null, "", "#"); setTimeout(draw); });
  // Where headings are hidden, on a telephone, the orders of columns are chosen here.
  const known = [...form.sort.options].map((one) => one.value);
  for (const { dataset, textContent } of headings) for (const [sort, sign] of [[dataset.up, "▲"], [dataset.down, "▼"]]) {
    if (![...known, "worst"].includes(sort)) form.sort.append(new Option(`${textContent} ${sign}`, sort));
  }
  addEventListener("hashchange", draw);
  document.addEventListener("click", (event) => {
    const heading = event.target.closest("thead a.sort");
    if (heading) {
      event.preventDefault();
      const { up, down } = heading.dataset, sort = (asked().get("sort") ?? "worst") === up ? down : up;
      ask({ sort: sort === "worst" ? "" : sort });
      return;
    }
    const link = event.target.closest("[data-line] a, #row a[href^='#row=']");
    onClick(event);
    if (!link) return;
    event.preventDefault();
    ask({ row: new URLSearchParams(link.hash.slice(1)).get("row") });
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
