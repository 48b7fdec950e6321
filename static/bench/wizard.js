// A step of the wizard that was changed and not saved asks before one leaves it, and a refused one shows its first error.
"use strict";

(() => {
  const form = document.getElementById("step-form");
  if (!form) return;
  let changed = Boolean(form.querySelector(".refused"));
  form.addEventListener("input", () => { changed = true; });
  document.addEventListener("submit", () => { changed = false; });
  window.addEventListener("beforeunload", (event) => { if (changed) event.preventDefault(); });
  window.addEventListener("load", () => {
    const field = form.querySelector('[aria-invalid="true"]');
    for (let folded = field?.closest("details"); folded; folded = folded.parentElement.closest("details")) folded.open = true;
    field?.scrollIntoView({ block: "center" });
    field?.focus({ preventScroll: true });
  });
})();
