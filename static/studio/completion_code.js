"use strict";
/* Copies a completion code. Without it, and without the clipboard, the code can be marked and copied by hand. */
(() => {
  const offer = () => { for (const button of document.querySelectorAll("[data-copy][hidden]")) button.hidden = false; };
  const say = (text) => { const said = document.querySelector("[data-copied]"); if (said) said.textContent = text; };

  function mark() {
    const code = document.getElementById("completion-code");
    getSelection().selectAllChildren(code);
    say(gettext("Marked: copy it with your browser's menu or keys."));
  }
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    if (!navigator.clipboard) return mark();
    await navigator.clipboard.writeText(button.dataset.copy).then(() => say(gettext("Copied.")), mark);
  });
  document.getElementById("state").addEventListener("htmx:afterSettle", offer);
  offer();
})();
