"use strict";
(() => {
  const STEP = 500;
  const list = document.getElementById("entries");
  const rest = document.getElementById("rest");
  const all = [...list.children, ...(rest ? rest.content.children : [])];
  const tools = document.getElementById("tools");
  const shown = document.getElementById("shown");
  const nothing = document.getElementById("nothing");
  const more = document.getElementById("more");
  const picked = document.getElementById("picked");
  const texts = new Map();
  let pick = null;
  let limit = STEP;
  const text = (entry) => {
    if (!texts.has(entry)) texts.set(entry, entry.textContent.toLocaleLowerCase());
    return texts.get(entry);
  };
  const row = (a, b) => a.dataset.section - b.dataset.section || a.dataset.number - b.dataset.number;
  const worst = (a, b) => a.dataset.group - b.dataset.group || a.dataset.score - b.dataset.score || row(a, b);
  const order = { worst, row };
  const by = (name) => order[name] || ((a, b) => (a.dataset[name] || -1) - (b.dataset[name] || -1) || worst(a, b));
  const chosen = (name) => (tools.elements[name] ? tools.elements[name].value : "");
  const fits = (entry, words) => {
    const rule = chosen("rule");
    const section = chosen("section");
    if (rule && entry.dataset.rule !== rule && entry.dataset.status !== rule) return false;
    if (section && entry.dataset.section !== section) return false;
    if (pick && entry.dataset[pick.key] !== pick.value) return false;
    return words.every((word) => text(entry).includes(word));
  };
  const apply = () => {
    const words = chosen("search").toLocaleLowerCase().split(/\s+/).filter(Boolean);
    const found = all.filter((entry) => fits(entry, words)).sort(by(chosen("sort")));
    list.replaceChildren(...found.slice(0, limit));
    shown.textContent = found.length;
    nothing.hidden = found.length > 0;
    picked.hidden = !pick;
    if (more) more.hidden = found.length <= limit;
  };
  const start = () => {
    limit = STEP;
    apply();
  };
  const offers = (name, value) => {
    const select = tools.elements[name];
    return Boolean(select) && [...select.options].some((option) => option.value === value);
  };
  const show = (button) => {
    const { key, value } = button.dataset;
    tools.reset();
    pick = null;
    if (button.dataset.in && offers("section", button.dataset.in)) tools.elements.section.value = button.dataset.in;
    if (offers(key, value)) {
      tools.elements[key].value = value;
    } else {
      pick = { key, value };
      picked.textContent = `${button.textContent.trim()} ×`;
    }
    start();
    document.getElementById("answers").scrollIntoView();
  };
  tools.hidden = false;
  document.getElementById("all").textContent = all.length;
  shown.textContent = all.length;
  if (more) {
    more.hidden = all.length <= STEP;
    more.addEventListener("click", () => {
      limit += STEP;
      apply();
    });
  }
  for (const button of document.querySelectorAll("button[data-key]")) button.addEventListener("click", () => show(button));
  picked.addEventListener("click", () => {
    pick = null;
    start();
  });
  tools.addEventListener("input", start);
  tools.addEventListener("submit", (event) => event.preventDefault());
  const closed = [];
  addEventListener("beforeprint", () => {
    for (const entry of list.children) {
      if (!entry.open) {
        closed.push(entry);
        entry.open = true;
      }
    }
  });
  addEventListener("afterprint", () => {
    for (const entry of closed.splice(0)) entry.open = false;
  });
})();
