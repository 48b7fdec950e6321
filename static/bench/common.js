// What every page of the bench does: times that count by themselves, dialogs that open and close, links that are copied,
// requests that fail.
"use strict";

/** The <details> of a part by id, or by the words of their summary. */
const readFolds = (part) => {
  const times = new Map(), folds = new Map();
  for (const one of part.querySelectorAll("details")) {
    const name = one.id || one.querySelector("summary").textContent.trim(), nth = (times.get(name) || 0) + 1;
    times.set(name, nth);
    folds.set(`${nth} ${name}`, one);
  }
  return folds;
};
/** Has the <details> of a new part stand open or shut as those that were read from the old one. */
const keepFolds = (before, part) => {
  for (const [name, one] of readFolds(part)) if (before.has(name)) one.open = before.get(name).open;
};

(() => {
  const ago = (seconds) => {
    if (seconds < 60) return `${Math.max(0, Math.round(seconds))} s ago`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
    if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
    return `${Math.floor(seconds / 86400)} d ago`;
  };
  const lasting = (seconds) => {
    const whole = Math.round(seconds);
    if (whole < 60) return `${whole} s`;
    if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
    return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  };
  const since = (text) => (Date.now() - Date.parse(text)) / 1000;

  const count = () => {
    for (const time of document.querySelectorAll("time[data-ago]")) time.textContent = ago(since(time.dateTime));
    for (const span of document.querySelectorAll("[data-since]")) span.textContent = lasting(since(span.dataset.since));
  };

  const show = (link) => {
    const video = document.getElementById("clip");
    video.poster = link.dataset.poster;
    video.src = link.href;
    video.ariaLabel = `Candidate ${video.dataset.key} at ${link.dataset.clip}% of its training`;
    for (const other of link.closest("ul").querySelectorAll("a")) other.removeAttribute("aria-current");
    link.setAttribute("aria-current", "true");
    video.play().catch(() => {}); // another clip was chosen before this one began
  };

  /** Without https scripts cannot use the clipboard: mark the text in a field, and copy what is marked. */
  const copyMarked = (text) => {
    const field = document.createElement("textarea");
    field.value = text;
    document.querySelector("main").append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  };
  const told = document.createElement("p");
  told.className = "visually-hidden";
  told.setAttribute("role", "status");
  document.addEventListener("DOMContentLoaded", () => document.querySelector("main")?.append(told));
  /** Has a screen reader say it. */
  const tell = (words) => { told.textContent = words; };
  /** Copies one link, or a line with name and link for each row of the table; the button then says whether it worked. */
  const copy = async (button) => {
    const rows = button.closest("table")?.querySelectorAll("tbody tr") || [];
    const lines = [...rows].map((row) => `${row.querySelector("th").textContent}\t${row.querySelector("[data-copy]").dataset.copy}`);
    const text = button.dataset.copy || lines.join("\n");
    const done = navigator.clipboard ? await navigator.clipboard.writeText(text).then(() => true, () => false) : copyMarked(text);
    button.dataset.label ||= button.textContent;
    button.textContent = done ? "Copied" : "Not copied";
    tell(`${button.textContent}: ${button.ariaLabel || button.dataset.label}`);
    button.focus();
    setTimeout(() => { button.textContent = button.dataset.label; }, 2000);
  };

  document.addEventListener("click", (event) => {
    const copied = event.target.closest("[data-copy], [data-copy-all]");
    if (copied) copy(copied);
    const opener = event.target.closest("[data-open]");
    if (opener) { event.preventDefault(); document.getElementById(opener.dataset.open).showModal(); }
    const open = event.target.closest("[data-close]")?.closest("dialog[open]");
    if (open) { event.preventDefault(); open.close(); }
    if (event.target.matches("dialog")) event.target.close(); // the backdrop
    const clip = event.target.closest("a[data-clip]");
    if (clip && !event.ctrlKey && !event.metaKey) { event.preventDefault(); show(clip); }
  });
  // A page stays open for hours: messages of success go after 12 seconds.
  setTimeout(() => { for (const said of document.querySelectorAll(".messages .success")) said.remove(); }, 12000);
  // A part that refreshes by itself keeps what stands open in it, and its scroll position.
  const folds = new Map();
  for (const event of ["htmx:beforeSwap", "htmx:oobBeforeSwap"]) document.addEventListener(event, ({ detail }) => folds.set(detail.target.id, readFolds(detail.target)));
  for (const event of ["htmx:afterSwap", "htmx:oobAfterSwap"]) document.addEventListener(event, ({ detail }) => {
    const part = document.getElementById(detail.target?.id); // one that comes from the browser's history has no target
    if (part && folds.has(part.id)) keepFolds(folds.get(part.id), part);
  });
  const scrolled = new Map();
  document.addEventListener("htmx:beforeSwap", () => {
    for (const part of document.querySelectorAll("[data-keep-scroll]")) scrolled.set(part.id, part.scrollTop);
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const part of document.querySelectorAll("[data-keep-scroll]")) part.scrollTop = scrolled.get(part.id) || 0;
  });
  // People who are stopped by a failure are told of when their number changes, not at every refresh.
  let stopped = "";
  const tellStopped = () => {
    const now = document.getElementById("failed-people")?.textContent || "";
    if (now !== stopped) tell(now);
    stopped = now;
  };
  document.addEventListener("DOMContentLoaded", () => { stopped = document.getElementById("failed-people")?.textContent || ""; });
  document.addEventListener("htmx:oobAfterSwap", tellStopped);
  // A request that fails says what to do, until the same one succeeds.
  const failed = new Map();
  const alarm = document.createElement("p");
  alarm.className = "notice error failed-requests";
  alarm.setAttribute("role", "alert");
  const explainFailure = (answer) => {
    const number = answer.status >= 500 && answer.getResponseHeader("X-Request-ID");
    if (!answer.status) return "The site did not answer. Check your connection and try again in a moment.";
    if (answer.status === 403) return "The site refused this (403). Reload the page and try again; if it still refuses, ask an administrator for the right.";
    if (answer.status === 404) return "This does not exist any more (404). Reload the page.";
    if (answer.status === 429) return "Too many requests (429). Wait a minute and try again.";
    if (answer.status < 500) return `The site did not accept this (${answer.status}). Reload the page and try again.`;
    return `The site failed at this (${answer.status}). Try again in a minute.${number ? ` If it fails again, its log has the error under ${number}.` : ""}`;
  };
  const showFailed = () => {
    const words = [...new Set([...failed.values()].map((one) => one.words))].filter(Boolean).join(" ");
    if (words === alarm.textContent) return;
    alarm.remove();
    alarm.textContent = words;
    if (words) (document.querySelector("dialog[open]") || document.body).append(alarm);
  };
  const keepFailed = (event) => {
    const asked = event.detail.requestConfig, key = `${asked.verb} ${asked.path}`;
    if (event.target.closest?.("[data-connection-test]")) return; // it says so itself
    const times = (failed.get(key)?.times || 0) + 1;
    // A part that refreshes by itself asks again soon: its first failure is not shown.
    const unseen = times === 1 && /\b(every|refresh)\b/.test(asked.elt.getAttribute("hx-trigger"));
    failed.set(key, { times, words: unseen ? "" : explainFailure(event.detail.xhr) });
    showFailed();
  };
  document.addEventListener("htmx:responseError", keepFailed);
  document.addEventListener("htmx:sendError", keepFailed);
  document.addEventListener("htmx:afterRequest", (event) => {
    const asked = event.detail.requestConfig;
    if (event.detail.successful && failed.delete(`${asked.verb} ${asked.path}`)) showFailed();
  });
  /** On a phone the links of the bench scroll sideways: scroll to the link of this page. */
  const showPlace = () => {
    const here = document.querySelector(".bar nav [aria-current]");
    if (here) here.parentElement.scrollLeft = here.offsetLeft + here.offsetWidth / 2 - here.parentElement.clientWidth / 2;
  };
  /** A form that was refused shows its first error: what hides the field is opened, and the field gets the focus. */
  const showError = () => {
    const refused = document.querySelector('main [aria-invalid="true"]');
    const field = refused?.matches("fieldset") ? refused.querySelector("input, select, textarea") : refused;
    const place = field || document.querySelector("[data-inline-type] .errorlist");
    if (!place) return;
    for (let folded = place.closest("details"); folded; folded = folded.parentElement.closest("details")) folded.open = true;
    requestAnimationFrame(() => { // a form of the admin gives its first field the focus meanwhile
      field?.focus({ preventScroll: true });
      place.scrollIntoView({ block: "center" });
    });
  };
  window.addEventListener("load", showError);
  // A form sent without a new page is refused in its place; what the server may not send back, a key, stays typed.
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (detail.xhr.status === 422) [detail.shouldSwap, detail.isError] = [true, false];
  });
  document.addEventListener("htmx:afterSwap", ({ detail }) => { if (detail.xhr?.status === 422) { unsaved = true; showError(); } });
  // A form with changes that are not saved asks once before one leaves it: one with data-asks, or one of the admin.
  const ASKS = 'form:is([data-asks], [id$="_form"])';
  let unsaved = false;
  document.addEventListener("DOMContentLoaded", () => { unsaved = Boolean(document.querySelector(`${ASKS} [aria-invalid="true"]`)); });
  document.addEventListener("input", ({ target }) => { if (target.closest(ASKS)) unsaved = true; });
  document.addEventListener("submit", ({ target, submitter }) => { if (target.matches(ASKS) && !submitter?.formTarget) unsaved = false; });
  window.addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });
  document.addEventListener("DOMContentLoaded", showPlace);
  document.addEventListener("htmx:load", count);
  document.addEventListener("DOMContentLoaded", count);
  setInterval(count, 1000);
})();
