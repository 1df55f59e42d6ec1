"use strict";
(() => {
  const list = document.getElementById("entries");
  const all = [...list.children];
  const tools = document.getElementById("tools");
  const shown = document.getElementById("shown");
  const nothing = document.getElementById("nothing");
  const texts = new Map(all.map((entry) => [entry, entry.textContent.toLocaleLowerCase()]));
  const worst = new Map(all.map((entry, place) => [entry, place]));
  const order = {
    worst: (a, b) => worst.get(a) - worst.get(b),
    row: (a, b) => a.dataset.number - b.dataset.number,
  };
  const by = (name) => order[name] || ((a, b) => (a.dataset[name] || -1) - (b.dataset[name] || -1) || order.worst(a, b));
  const fits = (entry) => {
    const wanted = tools.elements.rule.value;
    const section = tools.elements.section ? tools.elements.section.value : "";
    const words = tools.elements.search.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
    const kind = !wanted || entry.dataset.rule === wanted || entry.dataset.status === wanted;
    return kind && (!section || entry.dataset.section === section) && words.every((word) => texts.get(entry).includes(word));
  };
  const apply = () => {
    let count = 0;
    for (const entry of all) {
      entry.hidden = !fits(entry);
      count += !entry.hidden;
    }
    shown.textContent = count;
    nothing.hidden = count > 0;
  };
  const sort = () => {
    list.append(...[...all].sort(by(tools.elements.sort.value)));
  };
  tools.hidden = false;
  tools.addEventListener("input", apply);
  tools.elements.sort.addEventListener("change", sort);
  tools.addEventListener("submit", (event) => event.preventDefault());
  const closed = [];
  addEventListener("beforeprint", () => {
    for (const entry of all) {
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
