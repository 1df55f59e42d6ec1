"use strict";
// Steps of an agent: from one to the next by key, further ones when they are wanted, the step of the fault.

const stepsShown = () => [...document.querySelectorAll("ol.steps > .step")]; // parts of pictures have that class, too

function goTo(step) {
  for (const one of document.querySelectorAll("ol.steps > .here")) one.classList.remove("here");
  step.classList.add("here");
  step.focus({ preventScroll: true });
  step.scrollIntoView({ block: "nearest" });
}

// Further steps come in place of the link to them.
async function loadMore(link) {
  if (link.dataset.loading) return;
  link.dataset.loading = "1";
  const address = new URL(link.href);
  address.searchParams.set("part", "more");
  await htmx.ajax("GET", address.href, { target: link.closest("li"), swap: "outerHTML" });
}

async function moveStep(by, fits = () => true) {
  const all = stepsShown();
  const at = all.findIndex((one) => one.classList.contains("here"));
  const ahead = by > 0 ? all.slice(at + 1) : all.slice(0, Math.max(at, 0)).reverse();
  const next = ahead.find(fits);
  if (next) { goTo(next); return; }
  const link = document.querySelector("[data-more]");
  if (by > 0 && link && all.length) { await loadMore(link); if (stepsShown().length > all.length) moveStep(by, fits); }
}

function markFault(number) {
  const field = document.querySelector("#fault");
  if (!field) return;
  field.value = field.value === String(number) ? "" : number;
  for (const one of stepsShown()) {
    const is = one.dataset.step === field.value;
    one.classList.toggle("fault", is);
    one.querySelector("[data-fault]")?.setAttribute("aria-pressed", is);
  }
  const said = document.querySelector("#fault-said");
  said.hidden = !field.value;
  said.querySelector("b").textContent = field.value;
}

document.addEventListener("click", (event) => {
  const more = event.target.closest("[data-more]");
  if (more) { event.preventDefault(); loadMore(more); return; }
  const fault = event.target.closest("[data-fault]");
  if (fault) { markFault(fault.dataset.fault); return; }
  const step = event.target.closest("ol.steps > .step");
  if (step && !event.target.closest("a, button, summary")) goTo(step);
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || event.target.closest("dialog")) return;
  const key = keyOf(event);
  const picks = document.querySelector("#fault") !== null;
  const here = document.querySelector("ol.steps > .here");
  if (key === "e") moveStep(1, (one) => one.classList.contains("failed"));
  else if (key === "c") moveStep(1, (one) => one.classList.contains("cited"));
  else if (picks && key === "j") moveStep(1);
  else if (picks && key === "k") moveStep(-1);
  else if (picks && key === "f" && here) markFault(here.dataset.step);
});
