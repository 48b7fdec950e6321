"use strict";
/* Whether the page's own keys act: a choice of this browser, made in the help. Without scripts there are no such keys. */
window.Studio = window.Studio || {};
(() => {
  const KEPT = "prefine keys", box = document.querySelector("[data-keys]");
  Studio.keysAct = () => localStorage.getItem(KEPT) !== "off";
  if (!box) return;
  box.querySelector("input").checked = Studio.keysAct();
  box.hidden = false;
  box.addEventListener("change", ({ target }) => localStorage.setItem(KEPT, target.checked ? "on" : "off"));
})();
