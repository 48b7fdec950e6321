"use strict";
/* Questionnaires: questions appear as their condition comes true, and unsent answers survive a reload of the tab. */
(() => {
  const KEY = "prefine answers ";
  const state = document.getElementById("state");
  let form = null;

  /** What the answers in this fieldset are; empty while it is hidden. */
  const chosen = (name) => [...form.querySelectorAll(`[name="${name}"]:checked:not(:disabled)`)].filter((one) => !one.closest("[hidden]")).map((one) => one.value);
  /** Show what the answers ask for. A question that depends on another stands below it, so one pass is enough for a chain. */
  function show() {
    for (const box of form.querySelectorAll("[data-when]")) {
      const codes = box.dataset.codes.split(" ");
      const visible = chosen(box.dataset.when).some((value) => codes.includes(value));
      box.hidden = !visible;
      if ("disabled" in box) box.disabled = !visible;
    }
  }
  /** Who writes into the field of an option has chosen it. */
  function choose({ target }) {
    if (!target.matches(".own-words") || !target.value.trim()) return;
    const name = target.name.replace(/-other$/, "");
    form.querySelector(`[name="${name}"][value="${target.dataset.code}"]`).checked = true;
  }
  function keep() {
    const fields = [...new FormData(form)].filter(([name]) => name.startsWith("item-"));
    sessionStorage.setItem(KEY + form.dataset.draft, JSON.stringify(fields));
  }
  function restore() {
    const kept = JSON.parse(sessionStorage.getItem(KEY + form.dataset.draft) || "[]");
    for (const [name, value] of kept) {
      for (const field of form.querySelectorAll(`[name="${CSS.escape(name)}"]`)) {
        if (field.type === "radio" || field.type === "checkbox") field.checked = field.checked || field.value === value;
        else if (!field.value) field.value = value;
      }
    }
  }
  function forget() {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(KEY) && key !== KEY + form?.dataset.draft) sessionStorage.removeItem(key);
  }
  function begin() {
    const found = document.querySelector("form.questions");
    if (found === form) return;
    form = found;
    forget();
    if (!form) return;
    if (!form.querySelector(".is-wrong")) restore();
    show();
    form.addEventListener("input", (event) => { choose(event); show(); keep(); });
    form.querySelector("[autofocus]")?.focus();
  }
  state?.addEventListener("htmx:afterSettle", begin);
  begin();
})();
