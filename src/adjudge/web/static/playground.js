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
  source.addEventListener("ended", () => { source.close(); source = null; look(); });
}

function download(button) {
  const text = document.querySelector(button.dataset.download).textContent;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
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

document.addEventListener("htmx:after:swap", () => {
  follow();
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
  const wanted = [...names.map((name) => `clear:${name}`), ...names.map((name) => `border:${name}`)];
  renew(kinds, wanted, (name) => `${kinds.dataset[name.split(":")[0]]} ${name.slice(name.indexOf(":") + 1)}`);
});

document.addEventListener("change", async (event) => {
  if (event.target.id !== "file" || !event.target.files.length) return;
  document.querySelector("#brought").value = await event.target.files[0].text();
  document.querySelector("#bring").click();
});

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
  if (action && chosen) send({ action: action.dataset.action, text: chosen.field.value.slice(chosen.start, chosen.end) });
  const use = event.target.closest("[data-use]");
  if (use && chosen) {
    chosen.field.setRangeText(document.querySelector(use.dataset.use).textContent, chosen.start, chosen.end, "select");
    chosen.field.focus();
  }
});
