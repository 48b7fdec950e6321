// A draft is saved while one types; a step that could not be saved asks before one leaves it.
"use strict";

(() => {
  const form = document.getElementById("step-form");
  if (!form) return;
  const DELAY = 1200, said = document.getElementById("saved"), drafts = "autosave" in form.dataset;
  let unsaved = Boolean(form.querySelector(".refused"));
  let timer = 0, sending = null, typed = false;

  const schedule = () => { clearTimeout(timer); timer = setTimeout(save, DELAY); };
  function save() {
    if (sending) return; // what was typed meanwhile is sent when the answer is there
    typed = false;
    said.textContent = "Saving …";
    sending = send().finally(() => { sending = null; if (typed) schedule(); });
  }
  async function send() {
    const data = new FormData(form), before = new Map([...form.elements].map((field) => [field.id, field.value]));
    data.set("do", "autosave");
    let answer = null;
    try {
      const response = await fetch(location.pathname, { method: "POST", body: data, redirect: "error" });
      if (response.ok || response.status === 422) answer = await response.json();
    } catch { /* no connection, or signed out */ }
    if (!answer) {
      said.textContent = "Not saved: Prefine does not answer. The buttons try again.";
      return;
    }
    show(answer.errors || []);
    const others = answer.others || [];
    if (answer.errors) {
      const count = answer.errors.length + others.length;
      said.textContent = ["Not saved:", ...others, count > others.length ? "a field needs another look." : ""].join(" ").trim();
      return;
    }
    if (!typed) unsaved = false;
    for (const [id, value] of Object.entries(answer.values)) {
      const field = document.getElementById(id);
      if (field && field.value === before.get(id)) field.value = value;
    }
    refresh(new DOMParser().parseFromString(answer.page, "text/html"));
    said.textContent = `Saved ${new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}`;
  }
  /** What the page says about the draft: its title, what is still to be translated, in what arms differ. */
  function refresh(page) {
    document.title = page.title;
    for (const part of document.querySelectorAll("[data-fresh]")) {
      const now = page.getElementById(part.id);
      if (!now) continue;
      keepFolds(readFolds(part), now);
      if (now.innerHTML !== part.innerHTML) part.replaceWith(now);
    }
    showLanguages();
  }
  /** A language that is offered has its row of translations. */
  function showLanguages() {
    for (const row of form.querySelectorAll("[data-language]")) row.hidden = !form.querySelector(`[name="other_languages"][value="${row.dataset.language}"]`)?.checked;
  }
  /** Errors stand at their fields, as after a press of a button; those of before are gone. */
  function show(errors) {
    form.querySelector(".notice.error")?.remove();
    for (const old of form.querySelectorAll(":is(.wizard-field, .wizard-radios) > .danger")) old.remove();
    for (const box of form.querySelectorAll(".refused")) box.classList.remove("refused");
    for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
    for (const { name, id, text } of errors) {
      const field = form.querySelector(`[name="${CSS.escape(name)}"]`), box = field?.closest(".wizard-field, .wizard-radios");
      if (!box) continue;
      const error = Object.assign(document.createElement("p"), { className: "danger", id: `${id}_error`, textContent: text });
      box.classList.add("refused");
      box.querySelector("label, legend").after(error);
      field.setAttribute("aria-invalid", "true");
      const about = new Set((field.getAttribute("aria-describedby") || "").split(" ").filter(Boolean));
      field.setAttribute("aria-describedby", [...about.add(error.id)].join(" "));
      for (let folded = box.closest("details"); folded; folded = folded.parentElement.closest("details")) folded.open = true;
    }
  }

  /** What the times of opening and closing, which are UTC, are on the clock of who reads this. */
  function tellLocalTimes() {
    const said = document.getElementById("local-times");
    if (!said) return;
    const parts = Object.entries({ opens_at: "it opens", closes_at: "it closes" }).map(([name, does]) => {
      const moment = new Date(`${form.elements[name].value}Z`);
      return Number.isNaN(moment.getTime()) ? "" : `${does} ${moment.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" })}`;
    }).filter(Boolean);
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    said.textContent = parts.length ? `In your time zone (${zone}) ${parts.join(", and ")}.` : "";
  }

  tellLocalTimes();
  form.addEventListener("input", tellLocalTimes);
  showLanguages();
  form.addEventListener("change", showLanguages);
  form.addEventListener("input", () => {
    unsaved = typed = true;
    if (drafts) schedule();
  });
  // A button waits for the answer to what is being saved, because that may have changed texts.
  form.addEventListener("submit", (event) => {
    clearTimeout(timer);
    unsaved = typed = false;
    if (!sending) return;
    event.preventDefault();
    sending.then(() => form.requestSubmit(event.submitter));
  });
  document.addEventListener("submit", () => { unsaved = false; });
  window.addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });
})();
