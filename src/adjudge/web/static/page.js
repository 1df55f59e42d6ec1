"use strict";
// Keys, copying, and nothing else: what a page shows is made by the server.

// Where the pages are, for addresses without it. No other server on this machine can read what is kept here.
localStorage.setItem("adjudge", document.body.dataset.root);

for (const one of document.querySelectorAll("[data-open]")) one.hidden = false;

const lines = () => [...document.querySelectorAll("[data-line]")];
const isTyping = (target) => target.closest("input:not([name=tick]), select, textarea, [contenteditable]") !== null;

function move(step) {
  const all = lines();
  if (!all.length) return;
  const at = all.findIndex((line) => line.classList.contains("chosen"));
  const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
  const link = next.querySelector("a");
  link.click();
  link.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function choose(line) {
  for (const other of lines()) other.classList.toggle("chosen", other === line);
  const row = document.querySelector(".split > #row");
  if (row) row.hidden = !line; // without a row the list has the whole width
}

function closeRow() {
  const chosen = document.querySelector("[data-line].chosen a"), address = new URL(location.href);
  address.searchParams.delete("row");
  history.replaceState(history.state, "", address.pathname + address.search);
  choose(null);
  document.querySelector(".split > #row").replaceChildren();
  chosen?.focus();
}
document.addEventListener("click", (event) => {
  if (!event.target.closest(".split > #row [data-close-row]") || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  closeRow();
});

// Side by side, j and k go from one row whose verdicts differ to the next, over the end of the page.
function chooseDifferent(row) {
  for (const other of document.querySelectorAll("[data-differs].chosen")) other.classList.remove("chosen");
  row.classList.add("chosen");
  row.scrollIntoView({ block: "center" });
  row.querySelector("a")?.focus({ preventScroll: true });
}

function moveDifferent(step) {
  const all = [...document.querySelectorAll("[data-differs]")], at = all.findIndex((row) => row.classList.contains("chosen"));
  const next = all[at < 0 ? (step > 0 ? 0 : -1) : at + step];
  if (next) chooseDifferent(next);
  else document.querySelector(step > 0 ? "#changed-after" : "#changed-before")?.click();
}

const differentRow = document.querySelector("table.outputs") && location.hash && document.querySelector(`${location.hash}[data-differs]`);
if (differentRow) chooseDifferent(differentRow);

// The height of rows changes at once; the server remembers it.
document.addEventListener("click", (event) => {
  const choice = event.target.closest(".heights [data-height]");
  if (!choice || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  document.querySelector("table.outputs").dataset.height = choice.dataset.height;
  for (const other of document.querySelectorAll(".heights [data-height]")) {
    other.classList.toggle("on", other === choice);
    if (other === choice) other.setAttribute("aria-current", "true"); else other.removeAttribute("aria-current");
  }
  fetch(choice.href);
});

// Ticked rows are what the buttons above the list are about.
function countTicked() {
  const count = document.querySelectorAll("[data-line] input:checked").length;
  const whole = document.querySelector("[data-whole]"), ticked = document.querySelector("[data-ticked]");
  if (!whole) return;
  whole.hidden = count > 0;
  ticked.hidden = count === 0;
  ticked.querySelector("b").textContent = count;
  const actions = document.querySelector("#actions");
  if (count > 0 && actions) actions.open = true; // what can be done with them
}

function tickChosen() {
  const box = document.querySelector("[data-line].chosen input[name=tick]");
  if (box) { box.checked = !box.checked; countTicked(); }
}
document.addEventListener("change", countTicked);

// So many runs are ticked: said in the bar that then stays at the bottom edge.
function countRuns() {
  const place = document.querySelector("[data-runs-ticked]");
  if (!place) return;
  const count = document.querySelectorAll("input[name=runs]:checked").length;
  place.textContent = count ? place.dataset.runsTicked.replace("{count}", count) : "";
}
document.addEventListener("change", countRuns);
addEventListener("pageshow", countRuns);

// A choice above the list acts at once; without scripts the button does.
document.addEventListener("change", (event) => {
  if (event.target.matches(".bar select")) event.target.form.requestSubmit();
});

// A link to another list of the same run swaps the list; the page stays where it is scrolled to.
document.addEventListener("click", (event) => {
  const link = event.target.closest("#middle a, .overview a");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const isList = link.pathname === location.pathname && !link.hasAttribute("hx-get") && !link.closest("#row, #rows") && document.querySelector("#middle");
  if (!isList) return;
  event.preventDefault();
  htmx.ajax("GET", link.pathname + link.search, { target: "#middle", select: "#middle", swap: "outerMorph", push: "true" });
});
// A row of the list opens beside it, and is in the address without a step back for each row.
const rowPart = (link) => document.querySelector("#rows")?.dataset.part?.replace("{row}", new URL(link.href).searchParams.get("row"));
document.addEventListener("click", (event) => {
  const link = event.target.closest("#rows a");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || !rowPart(link)) return;
  event.preventDefault();
  htmx.ajax("GET", rowPart(link), { source: "#row", target: "#row", replace: link.href.split("#")[0] });
});
// What was opened above the list stays open, and what was closed closed.
document.addEventListener("htmx:before:morph:attr", (event) => {
  if (event.detail.attrName === "open" && event.target.closest?.("#middle details")) event.preventDefault();
});

// The row beside a list that was swapped is still the chosen one.
function chooseShownRow() {
  const row = document.querySelector(".split > #row .rowhead")?.dataset.row;
  if (!row || document.querySelector("[data-line].chosen")) return;
  lines().find((line) => line.querySelector("input[name=tick]")?.value.split(",").includes(row))?.classList.add("chosen");
}

// A run whose line comes later, when its figures are known, stays ticked.
const tickedRuns = new Set();
document.addEventListener("change", ({ target }) => {
  if (target.name === "runs") tickedRuns[target.checked ? "add" : "delete"](target.value);
});
document.addEventListener("htmx:after:swap", () => {
  for (const box of document.querySelectorAll("input[name=runs]")) box.checked ||= tickedRuns.has(box.value);
});

// A list that is shortened while you type; without scripts it is whole.
for (const field of document.querySelectorAll("[data-find]")) field.closest("[hidden]")?.removeAttribute("hidden");
document.addEventListener("input", (event) => {
  const field = event.target.closest("[data-find]");
  if (!field) return;
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean), all = [...document.querySelectorAll(field.dataset.find)];
  for (const one of all) one.hidden = !words.every((word) => one.textContent.toLowerCase().includes(word));
  const count = field.closest("p").querySelector("[data-found]");
  if (count) count.textContent = words.length ? `${all.filter((one) => !one.hidden).length} / ${all.length}` : "";
  for (const group of document.querySelectorAll("[data-roving]")) rove(group);
});

// A list of boxes to tick is one stop of the Tab key; arrows go from box to box. Without scripts each box is a stop.
const boxesOf = (group) => [...group.querySelectorAll("input:not(:disabled)")].filter((box) => box.offsetParent);

function rove(group, chosen) {
  const boxes = boxesOf(group), stop = chosen ?? boxes.find((box) => box.checked) ?? boxes[0];
  for (const box of group.querySelectorAll("input")) box.tabIndex = box === stop ? 0 : -1;
}

for (const group of document.querySelectorAll("[data-roving]")) {
  group.removeAttribute("tabindex"); // the box inside is the stop
  rove(group);
  group.addEventListener("focusin", (event) => { if (event.target.matches("input")) rove(group, event.target); });
  group.addEventListener("keydown", (event) => {
    const boxes = boxesOf(group), at = boxes.indexOf(event.target);
    const next = { ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: boxes.length - 1 }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    boxes[Math.min(Math.max(next, 0), boxes.length - 1)].focus();
  });
}

// Beside a list the arrows of the row follow the list, and say where in it the row is.
function followList() {
  chooseShownRow();
  const all = lines(), at = all.findIndex((line) => line.classList.contains("chosen"));
  const place = document.querySelector(".split > #row [data-place]"), list = document.querySelector("#list");
  if (place) place.hidden = at < 0;
  if (at < 0) return;
  const total = document.querySelector("#matching")?.dataset.shown || list?.dataset.all;
  if (place && list) {
    const number = Number(list.dataset.at) + at + 1;
    place.textContent = total ? list.dataset.place.replace("{place}", number).replace("{total}", total) : String(number);
  }
  for (const [rel, step, sign] of [["prev", -1, "‹"], ["next", 1, "›"]]) {
    const link = document.querySelector(`.split > #row .rowhead [rel=${rel}]`), other = all[at + step]?.querySelector("th a");
    if (link && other) { link.textContent = `${sign} ${other.textContent}`; link.dataset.step = step; link.href = other.href; }
  }
}
document.addEventListener("click", (event) => {
  const link = event.target.closest(".split > #row .rowhead [data-step]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  move(Number(link.dataset.step));
});
document.addEventListener("DOMContentLoaded", followList);
addEventListener("pageshow", countTicked); // a browser that goes back remembers them

// Beside the list there is room for all figures.
if (matchMedia("(min-width: 120rem)").matches) for (const one of document.querySelectorAll(".figures-more")) one.open = true;

// The name at the end of an expression is completed: a suggestion is the whole text with that name behind it.
const where = document.querySelector("#find");
where?.addEventListener("input", () => {
  const begun = where.value.match(/[^\s()=<>!~]*$/u)[0], before = where.value.slice(0, where.value.length - begun.length);
  const isName = /(^|[(]|\b(and|or|not)|(^|\s)(и|или|не))\s*$/iu.test(before);
  const fit = isName && begun ? JSON.parse(where.dataset.words).filter((word) => word.toLowerCase().startsWith(begun.toLowerCase()) && word !== begun) : [];
  document.querySelector("#completions").replaceChildren(...fit.slice(0, 12).map((word) => new Option("", before + word)));
});

function openDialog(name) {
  const dialog = document.querySelector(name);
  if (dialog.open) return;
  dialog.showModal();
  const field = dialog.querySelector("input");
  if (!field) return;
  field.value = "";
  field.focus();
  setTimeout(() => field.dispatchEvent(new CustomEvent("opened"))); // behind the start of htmx, which a key may come before
}

// What is selected in the row becomes the reason of its label.
function quoteSelection() {
  const chosen = getSelection(), note = document.querySelector("#note");
  const text = chosen.toString().trim();
  if (!text || !chosen.anchorNode?.parentElement.closest("#work .text")) return;
  note.value = `${note.value} “${text}”`.trim().slice(0, note.maxLength);
}

// Markdown as it was written: chosen once, and so for every row.
function showRaw(raw) {
  sessionStorage.setItem("raw", raw ? "1" : "");
  drawTexts();
}

function drawTexts() {
  const raw = sessionStorage.getItem("raw") === "1";
  for (const one of document.querySelectorAll(".rendered")) one.hidden = raw;
  for (const one of document.querySelectorAll(".source")) one.hidden = !raw;
  for (const one of document.querySelectorAll("[data-raw]")) {
    one.hidden = !document.querySelector(".rendered");
    one.setAttribute("aria-pressed", raw);
  }
}
drawTexts();

document.addEventListener("click", (event) => {
  const line = event.target.closest("[data-line]");
  if (line && event.target.closest("a")) {
    choose(line);
    if (event.detail === 0) document.querySelector("#row")?.focus({ preventScroll: true }); // by Enter: what comes is read next
  }
  const link = event.target.closest("[data-link]");
  if (link) navigator.clipboard.writeText(new URL(link.dataset.link, location.href).href);
  const opener = event.target.closest("[data-open]");
  if (opener) openDialog(opener.dataset.open);
  if (event.target.closest("[data-quote]")) quoteSelection();
  const raw = event.target.closest("[data-raw]");
  if (raw) showRaw(raw.getAttribute("aria-pressed") !== "true");
  const copy = event.target.closest("[data-copy]");
  if (copy) navigator.clipboard.writeText(document.querySelector(copy.dataset.copy).textContent);
});

// A letter by its place on the keyboard where the layout is another one (Russian), and in whatever case.
function keyOf(event) {
  if (event.key.length !== 1 || !/\p{L}/u.test(event.key)) return event.key;
  return /[a-z]/i.test(event.key) || !event.code.startsWith("Key") ? event.key.toLowerCase() : event.code[3].toLowerCase();
}

document.addEventListener("keydown", (event) => {
  const key = keyOf(event);
  if ((event.ctrlKey || event.metaKey) && key === "k") {
    event.preventDefault();
    openDialog("#switch");
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat && !"jk".includes(key)) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (key === "Escape" && event.target.closest("#row")) document.querySelector("[data-line].chosen a")?.focus();
  if ((key === "Enter" || key === " ") && event.target.closest("button, a, summary")) return; // they press what has the focus
  const button = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key || one.dataset.letter === key);
  if (button && !button.disabled) {
    event.preventDefault();
    if (button.closest("#work.loading") && !button.dataset.focus) return; // meant for the row that is still to come
    if (button.closest(".single")) stepTo(key);
    else button.dataset.focus ? button.focus() : button.click();
  } else if (event.target.closest("dialog")) {
    return;
  } else if (event.key === "?" || event.key === "/") {
    event.preventDefault();
    openDialog(event.key === "?" ? "#help" : "#switch");
  } else if (key === "x") {
    tickChosen();
  } else if (key === "a" && document.querySelector("#actions")) {
    document.querySelector("#actions").open = true;
    document.querySelector("#these button").focus();
  } else if ((key === "j" || key === "k") && document.querySelector("table.outputs")) {
    moveDifferent(key === "j" ? 1 : -1);
  } else if (key === "j" || key === "k") {
    move(key === "j" ? 1 : -1);
  } else if (key === "n" && document.querySelector("#next")) {
    document.querySelector("#next").click();
  }
});

// On the page of a row, keys that come before the row of the last one are pressed when it is there.
let isStepping = false, owed = [];

function stepTo(key) {
  if (isStepping) { owed.push(key); return; }
  const link = document.querySelector(`.single [data-key="${key}"]`);
  isStepping = link !== null;
  link?.click();
}

// The rows beside the one that is shown are fetched ahead. The server takes them for seen when they are shown, not before.
const ahead = new Map();
const plainAddress = (text) => { const url = new URL(text, location.href); return url.pathname + url.search; };

function fetchAhead() {
  const all = lines(), at = all.findIndex((line) => line.classList.contains("chosen"));
  const links = at < 0 ? [...document.querySelectorAll(".single .rowhead [hx-get]")] : [all[at + 1], all[at - 1]].map((line) => line?.querySelector("a"));
  const wanted = links.filter(Boolean).map((link) => plainAddress(link.getAttribute("hx-get") ?? rowPart(link)));
  for (const known of [...ahead.keys()]) if (!wanted.includes(known)) ahead.delete(known);
  for (const one of wanted) if (!ahead.has(one)) ahead.set(one, wholeAnswer(`${one}&ahead=1`).catch(() => null));
}

// Read to its end: an answer half read would hold one of the few connections that a browser has.
async function wholeAnswer(address) {
  const answer = await fetch(address, { headers: { "HX-Request": "true" } });
  await answer.clone().text();
  return answer.ok ? answer : null;
}
document.addEventListener("htmx:before:request", (event) => {
  const ctx = event.detail.ctx, kept = ahead.get(plainAddress(ctx.request.action));
  if (kept) ctx.fetch = async (action, request) => {
    const found = await kept;
    request.signal.throwIfAborted();
    if (!found) return fetch(action, request);
    fetch(`${action}&seen=1`);
    return found.clone();
  };
});
fetchAhead();

// Columns are as wide as somebody made them last, in the list of any run; a double click gives a column its own width again.
const WIDTHS = "widths";
const widths = () => JSON.parse(localStorage.getItem(WIDTHS) ?? "{}");
const headings = () => [...document.querySelectorAll(".split > #list thead th[data-column]")];

function setWidth(heading, width) {
  heading.style.width = heading.style.minWidth = width ? `${width}px` : "";
}

function drawWidths() {
  const kept = widths();
  for (const heading of headings()) {
    setWidth(heading, kept[heading.dataset.column]);
    if (heading.querySelector(".grip")) continue;
    const grip = document.createElement("span");
    grip.className = "grip";
    heading.append(grip);
  }
}
drawWidths();

document.addEventListener("pointerdown", (event) => {
  const grip = event.target.closest(".grip");
  if (!grip) return;
  const heading = grip.parentElement, start = heading.offsetWidth - event.clientX;
  const pull = ({ clientX }) => setWidth(heading, Math.max(40, Math.round(start + clientX)));
  event.preventDefault();
  grip.setPointerCapture(event.pointerId);
  grip.classList.add("held");
  grip.addEventListener("pointermove", pull);
  grip.addEventListener("lostpointercapture", () => {
    grip.removeEventListener("pointermove", pull);
    grip.classList.remove("held");
    keepWidth(heading, heading.offsetWidth);
  }, { once: true });
});
document.addEventListener("dblclick", (event) => {
  const heading = event.target.closest(".grip")?.parentElement;
  if (heading) { setWidth(heading); keepWidth(heading); }
});

function keepWidth(heading, width) {
  localStorage.setItem(WIDTHS, JSON.stringify({ ...widths(), [heading.dataset.column]: width }));
}

// The list beside a row is as wide as it was made last.
const list = document.querySelector(".split > #list");
if (list && localStorage.getItem("list")) list.style.width = localStorage.getItem("list");
document.addEventListener("pointerup", () => {
  const drawn = document.querySelector(".split > #list");
  if (drawn?.style.width) localStorage.setItem("list", drawn.style.width);
});

// Who went into the row before its answer came stays in the row.
let wasInRow = false;
document.addEventListener("htmx:before:swap", () => { wasInRow = document.activeElement.closest("#row") !== null; });
document.addEventListener("htmx:after:swap", () => {
  if (wasInRow && document.activeElement === document.body) document.querySelector("#row")?.focus({ preventScroll: true });
  drawTexts();
  drawWidths();
  followList();
  countTicked();
  fetchAhead();
  isStepping = false;
  if (owed.length) stepTo(owed.shift());
  const row = document.querySelector(".split > #row");
  if (row && !matchMedia("(min-width: 70rem)").matches) row.scrollIntoView({ block: "start" });
});

// A server that has ended, or a machine asleep: said at once, so that nobody goes on labelling into the void.
document.addEventListener("htmx:error", (event) => {
  isStepping = false;
  owed = [];
  if (event.detail?.error instanceof TypeError) document.querySelector("#unheard").hidden = false;
});
document.addEventListener("htmx:after:request", (event) => {
  document.querySelector("#unheard").hidden = true;
  // A server that was started again on the same port does not know this page.
  if (event.detail?.ctx?.response?.raw?.status === 403) document.querySelector("#stale").hidden = false;
});
