"use strict";
// Results as they come, files in and out, and the actions on a selected text. What is shown is made by the server.

let source = null;
let chosen = null;

function follow() {
  const trial = document.querySelector("#trial[data-events]");
  if (!trial || (source && source.trial === trial.dataset.trial)) return;
  if (source) source.close();
  source = new EventSource(trial.dataset.events);
  source.trial = trial.dataset.trial;
  const look = () => document.querySelector("#trial")?.dispatchEvent(new CustomEvent("changed"));
  source.addEventListener("changed", look);
  source.addEventListener("error", look); // a server that has ended is said to have
  source.addEventListener("ended", () => { source.close(); source = null; look(); });
}

function download(button) {
  const text = document.querySelector(button.dataset.download).textContent;
  const link = document.createElement("a");
  const mark = button.dataset.name.endsWith(".csv") ? "\ufeff" : ""; // by which Excel knows UTF-8
  link.href = URL.createObjectURL(new Blob([mark, text], { type: "text/plain" }));
  link.download = button.dataset.name;
  link.click();
  URL.revokeObjectURL(link.href);
}

function send(values) {
  const sender = document.querySelector("#sender");
  sender.querySelectorAll("input").forEach((one) => one.remove());
  for (const [name, value] of Object.entries(values)) {
    const field = document.createElement("input");
    field.type = "hidden"; field.name = name; field.value = value;
    sender.append(field);
  }
  sender.dispatchEvent(new CustomEvent("send"));
}

// What is typed is kept in this browser until it is saved: a reload, a closed tab or a wrong button lose nothing.
const form = document.querySelector("#case");
const draft = `draft ${location.pathname.slice(document.body.dataset.root.length)}${location.search}`;
const results = draft.replace("draft", "trial");
const trialOf = () => form.querySelector("[name=trial]")?.value;
const passing = ["new_field", "beside_name", "trial"];
const typed = () => JSON.stringify([...new FormData(form)].filter(([name]) => !passing.includes(name)));
const opened = typed();
const undone = [];
let saved = opened;

function fill(text, trial = trialOf()) {
  const restorer = document.querySelector("#restorer");
  const fields = [...JSON.parse(text), ...(trial ? [["trial", trial]] : [])];
  restorer.replaceChildren(...fields.map(([name, value]) => {
    const field = document.createElement("input");
    field.type = "hidden"; field.name = name; field.value = value;
    return field;
  }));
  restorer.dispatchEvent(new CustomEvent("send"));
}

// A tab keeps its own draft over a reload; the latest of all tabs is there for the next one that is opened.
let kept = null;
function forgetDraft() {
  sessionStorage.removeItem(draft);
  if (localStorage.getItem(draft) === kept) localStorage.removeItem(draft);
}

function keepDraft() {
  const now = typed();
  document.querySelector("#undo").disabled = !undone.length;
  try {
    if (now === opened || now === saved) forgetDraft();
    else for (const one of [sessionStorage, localStorage]) one.setItem(draft, kept = now);
    if (trialOf()) sessionStorage.setItem(results, trialOf());
    else sessionStorage.removeItem(results);
    unkept = false;
  } catch { unkept = now !== saved; }
}
let unkept = false;
let asked = false;

addEventListener("beforeunload", (event) => { if (unkept) event.preventDefault(); }); // only where nothing could be kept
addEventListener("load", () => {
  kept = sessionStorage.getItem(draft) ?? localStorage.getItem(draft);
  const trial = sessionStorage.getItem(results), back = kept ?? opened;
  if (back === opened && !trial) return;
  document.querySelector("#restored").hidden = back === opened;
  const restore = () => { fill(back, trial); setTimeout(() => asked || restore(), 50); }; // htmx may not be ready yet
  restore();
});
form.addEventListener("input", (event) => {
  keepDraft();
  if (event.target.name.startsWith("row.text")) event.target.closest(".instance").classList.add("stale");
});

// Results stand beside their instances; those of a run's rows stay in their list. On a narrow page a new trial is gone to.
let shown = null;
function settle() {
  const trial = document.querySelector("#trial[data-fresh]");
  if (!trial) return;
  trial.removeAttribute("data-fresh");
  if (trial.dataset.trial !== shown && !matchMedia("(min-width: 70rem)").matches) trial.scrollIntoView();
  shown = trial.dataset.trial;
  for (const one of form.querySelectorAll(".instance")) {
    one.classList.remove("stale");
    one.querySelector(".got").replaceChildren(...form.querySelectorAll(`#results [data-at="${one.id.slice(9)}"]`));
  }
}
document.addEventListener("htmx:before:request", (event) => {
  asked ||= event.target.id === "restorer";
  if (!(event.target instanceof Element) || !event.target.closest("#case, #said, #tools") || event.target.id === "criteria-fields") return;
  const now = typed();
  if (undone.at(-1) !== now) undone.push(now);
  undone.splice(0, undone.length - 50);
});
document.addEventListener("click", (event) => {
  if (event.target.closest("#undo")) {
    const now = typed();
    let before = undone.pop();
    while (before === now) before = undone.pop();
    if (before) fill(before);
  }
  if (event.target.closest("#afresh")) { forgetDraft(); sessionStorage.removeItem(results); unkept = false; location.reload(); }
});

document.addEventListener("htmx:after:swap", (event) => {
  settle();
  follow();
  if (event.target.id === "said") event.target.scrollIntoView({ block: "nearest" });
  const said = document.querySelector("[data-saved-case]");
  if (said) {
    form.querySelector("[name=case]").value = said.dataset.savedCase;
    form.querySelector("[name=base]").value = said.dataset.savedBase;
    said.removeAttribute("data-saved-case");
    saved = typed();
  }
  keepDraft();
  const wanted = document.querySelector("[data-focus-now]");
  if (wanted) { wanted.removeAttribute("data-focus-now"); wanted.focus(); }
});

function renew(select, names, written) {
  const at = [...select.options].findIndex((one) => one.selected);
  select.replaceChildren(...names.map((name) => new Option(written(name), name)));
  select.selectedIndex = Math.min(Math.max(at, 0), names.length - 1);
}

// Options that are renamed are renamed wherever they can be chosen.
document.addEventListener("change", (event) => {
  if (event.target.name !== "option.name") return;
  const names = [...document.querySelectorAll("[name='option.name']")].map((one) => one.value.trim()).filter(Boolean);
  document.querySelectorAll("[name='row.expected']").forEach((one) => renew(one, ["", ...names], (name) => name || "–"));
  document.querySelectorAll("[name='example.option']").forEach((one) => renew(one, names, (name) => name));
  const kinds = document.querySelector("#data-kind");
  const wanted = [...names.map((name) => `clear:${name}`), ...names.map((name) => `border:${name}`), "all"];
  renew(kinds, wanted, (name) => name === "all" ? kinds.dataset.all : `${kinds.dataset[name.split(":")[0]]} ${name.slice(name.indexOf(":") + 1)}`);
});

// Ctrl+Enter judges, Ctrl+S saves, wherever the focus is.
document.addEventListener("keydown", (event) => {
  const button = { Enter: "button.main", KeyS: "#save" }[event.code];
  if (!button || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  document.querySelector(button).click();
});

// Enter in a field adds what is named there; it judges nothing, which may cost.
const adds = { beside_name: "#add-beside", new_field: "#add-field" };
form.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.target.tagName !== "INPUT") return;
  event.preventDefault();
  if (adds[event.target.name]) document.querySelector(adds[event.target.name]).click();
});

// What is expected may be said after the verdict: agreement follows at once.
document.addEventListener("change", (event) => {
  if (event.target.name === "row.expected") document.querySelector("#trial")?.dispatchEvent(new CustomEvent("changed"));
});

// A file is UTF-8 or has a mark of UTF-16; else it is what Windows writes, by its Russian words or without any.
function decode(bytes) {
  const name = bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "utf-8";
  try {
    return [new TextDecoder(name, { fatal: true }).decode(bytes), ""];
  } catch {
    const western = new TextDecoder("windows-1252").decode(bytes);
    if (!/[\xc0-\xff\xa8\xb8]{3}/.test(western)) return [western, "windows-1252"];
    return [new TextDecoder("windows-1251").decode(bytes), "windows-1251"];
  }
}

document.addEventListener("change", async (event) => {
  if (event.target.id !== "file" || !event.target.files.length) return;
  const [text, encoding] = decode(new Uint8Array(await event.target.files[0].arrayBuffer()));
  event.target.value = ""; // the same file may be brought in again
  document.querySelector("#brought").value = text;
  document.querySelector("#brought-as").value = encoding;
  document.querySelector("#bring").click();
});
document.querySelector("#brought").addEventListener("input", () => { document.querySelector("#brought-as").value = ""; });

document.addEventListener("select", (event) => {
  if (!event.target.matches("textarea[data-text]")) return;
  const field = event.target;
  chosen = { field, start: field.selectionStart, end: field.selectionEnd };
  const actions = document.querySelector("#text-actions");
  if (actions && chosen.end > chosen.start) actions.hidden = false;
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-download]");
  if (button) download(button);
  const action = event.target.closest("[data-action]");
  if (action && chosen) send({ action: action.dataset.action, text: chosen.field.value.slice(chosen.start, chosen.end), wish: document.querySelector("#wish").value });
  const clear = event.target.closest("[data-clear]");
  if (clear) document.querySelector(clear.dataset.clear).replaceChildren();
  if (event.target.closest("#tools button") || !event.target.closest("#tools")) for (const one of document.querySelectorAll("#tools details")) one.open = false;
  const use = event.target.closest("[data-use]");
  if (use && chosen) {
    chosen.field.setRangeText(document.querySelector(use.dataset.use).textContent, chosen.start, chosen.end, "select");
    chosen.field.focus();
  }
});
