"use strict";
/* Counts down the seconds in which an evaluator may take the last answer back, then hides the button. */
(() => {
  const undo = document.querySelector(".undo[data-seconds]");
  const end = performance.now() + 1000 * Number(undo.dataset.seconds);
  const words = undo.querySelector("[data-countdown]");
  undo.addEventListener("submit", (event) => {
    if (undo.dataset.sent) event.preventDefault();
    undo.dataset.sent = "yes";
  });
  const tick = setInterval(() => {
    const left = end - performance.now();
    words.textContent = Math.max(0, Math.ceil(left / 1000));
    if (left > 0 || undo.dataset.sent) return;
    clearInterval(tick);
    if (undo.contains(document.activeElement)) document.getElementById("state").focus(); // not lost to the top of the page
    undo.classList.add("is-over"); // it keeps its place, so that the videos do not jump
  }, 200);
})();
