// The tab key stops once at a picture, arrows go from one of its pieces to the next.
{
  const piecesBeside = (one) => (one.matches?.("svg .piece") ? [...one.closest("svg").querySelectorAll(".piece")] : []);
  document.addEventListener("focusin", ({ target }) => {
    for (const one of piecesBeside(target)) one.tabIndex = one === target ? 0 : -1;
  });
  document.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    const pieces = piecesBeside(event.target);
    if (!step || !pieces.length || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    pieces[Math.min(Math.max(pieces.indexOf(event.target) + step, 0), pieces.length - 1)].focus();
  });
}
