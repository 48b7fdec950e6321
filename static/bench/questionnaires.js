"use strict";
// Shows the question while it is written: what the button "Show" does, a moment after each change.
(() => {
  const form = document.getElementById("item-form"), button = document.getElementById("show-preview");
  if (!form || !button) return;
  let timer;
  const show = () => form.requestSubmit(button);
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(show, 400); });
  show();
})();
