"use strict";
// Labelling: the next row is in the page before it is asked for, and what was said of a row goes to the server while
// the next one is read, one answer behind the other. A row whose answer was not kept comes back.

const GLANCE = 150; // milliseconds in which nobody reads a row: a key that comes sooner was meant for the one before
let shownAt = 0;
const answers = []; // said of rows that are shown no more, in their order; the first is on its way
const desk = (name) => document.querySelector(`#work ${name}`);
const hold = (is) => document.querySelector("#work").classList.toggle("loading", is); // no row to answer is shown

function say(values) {
  const leaves = ["answer", "unsure", "skip"].includes(values.do);
  if (document.querySelector("#work.loading") || leaves && performance.now() - shownAt < GLANCE) return;
  const row = desk("#now"), next = desk("#ahead").content.firstElementChild;
  answers.push({ row, values: { note: desk("#note").value, fault: desk("#fault")?.value ?? "", row: row.dataset.row, ...values } });
  if (leaves && next) showNext(next); else hold(true);
  if (leaves || values.do === "undo") for (const name of ["#foot", "#revealed"]) desk(name).replaceChildren();
  if (answers.length === 1) send();
}

function showRow(row) {
  desk("#now").replaceWith(row);
  hold(false);
  drawTexts();
  const work = document.querySelector("#work");
  if (work.getBoundingClientRect().top < 0) work.scrollIntoView();
}

function showNext(row) {
  showRow(row);
  shownAt = performance.now();
}

async function send() {
  const news = document.querySelector("#news"), [{ row, values }] = answers;
  news.replaceChildren();
  await htmx.ajax("POST", document.querySelector("#work").dataset.address, { target: "#news", values }).catch(() => null);
  const now = news.querySelector("#now");
  if (now) {
    answers.shift();
    for (const name of ["#head", "#foot"]) desk(name).replaceWith(news.querySelector(name));
    take(now, news.querySelector("#ahead"));
  } else { // it was not kept, nor will be what was said since
    answers.length = 0;
    showRow(row);
    desk("#ahead").content.replaceChildren();
    const why = news.querySelector("[role=alert]");
    if (why) desk("#head").replaceChildren(why);
  }
  news.replaceChildren();
  if (answers.length) send();
}

// The row that the server has now is the one that is shown, answered meanwhile or not; else somebody was faster.
function take(now, ahead) {
  const isSame = now.dataset.row && now.dataset.row === desk("#now").dataset.row, next = ahead.content.firstElementChild;
  if (!answers.length && !isSame) showRow(now);
  if (answers.length && isSame && next) showNext(next);
  desk("#ahead").replaceWith(ahead);
  if (!answers.length) hold(false);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-do]");
  if (button) say({ do: button.dataset.do, ...(button.dataset.choice === undefined ? {} : { choice: button.dataset.choice }) });
});
document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-do]");
  if (!form) return;
  event.preventDefault();
  say({ do: form.dataset.do, ...Object.fromEntries(new FormData(form)) });
  if (form.dataset.do === "unclear") form.reset();
});
addEventListener("beforeunload", (event) => { if (answers.length) event.preventDefault(); });
