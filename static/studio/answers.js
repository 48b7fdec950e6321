"use strict";
/* Reading answers and choosing the best and the worst. Formulas are drawn by formulas.js; nothing that an answer says is run. */
(() => {
  /** A formula that is wider than its place scrolls: then the keyboard must reach it. Hidden ones have no width yet. */
  function reachable(root) {
    for (const span of root.querySelectorAll('.math[data-display="yes"]')) {
      if (span.scrollWidth > span.clientWidth) span.tabIndex = 0;
      else span.removeAttribute("tabindex");
    }
  }

  function review(form) {
    const needsWorst = form.dataset.worst === "yes";
    const kinds = needsWorst ? ["best", "worst"] : ["best"];
    const words = { best: gettext("Best"), worst: gettext("Worst") };
    const answers = [...form.querySelectorAll(".answer")], columns = form.querySelector(".columns");
    const confirm = form.querySelector(".confirm .button"), reason = form.querySelector("#reason");
    const cannot = form.elements.cannot_tell, why = form.querySelector(".why"), fold = form.querySelector('[data-do="fold"]');
    const memory = `prefine ${form.dataset.screening}`;
    const opened = performance.now(), startedAt = Date.now();
    let lost = 0, changes = 0, firstChoice = null;

    const radio = (kind, letter) => [...form.querySelectorAll(`input[name="${kind}"]`)].find((one) => one.value === letter);
    const chosen = (kind) => form.querySelector(`input[name="${kind}"]:checked`)?.value || "";

    // --- the choice ---
    function choose(kind, letter) {
      const input = radio(kind, letter);
      if (!input || input.checked) return;
      if (chosen(kind)) changes += 1;
      input.checked = true;
      changed(kind);
    }
    function changed(kind) {
      firstChoice ??= Math.round(performance.now() - opened);
      const other = kind === "best" ? "worst" : "best";
      if (chosen(kind) && chosen(kind) === chosen(other)) radio(other, chosen(other)).checked = false;
      if (chosen(kind) && cannot) cannot.checked = false;
      draw();
    }
    function draw() {
      for (const answer of answers) {
        const kind = kinds.find((one) => chosen(one) === answer.dataset.letter);
        for (const shown of [answer, form.querySelector(`.letters [data-letter="${answer.dataset.letter}"]`)]) {
          shown.classList.toggle("is-best", kind === "best");
          shown.classList.toggle("is-worst", kind === "worst");
        }
        answer.querySelector(".badge").textContent = kind ? words[kind] : "";
      }
      for (const kind of kinds) fill(form.querySelector(`[data-slot="${kind}"]`), chosen(kind));
      const missing = wanting();
      confirm.disabled = Boolean(missing);
      if (reason.textContent !== missing) reason.textContent = missing;
      why?.classList.toggle("is-said", Boolean(form.querySelector(".why :checked") || form.elements.reason?.value.trim()));
      remember();
    }
    function fill(slot, letter) {
      slot.classList.toggle("is-set", Boolean(letter));
      slot.querySelector(".thumb").textContent = letter;
      slot.querySelector("[data-slot-said]").textContent = letter ? interpolate(gettext("answer %(letter)s"), { letter }, true) : cannot?.checked ? "" : gettext("not chosen yet");
    }
    /** Why the choice cannot be confirmed yet; empty when it can. */
    function wanting() {
      if (cannot?.checked) return "";
      const best = chosen("best"), worst = chosen("worst");
      if (!needsWorst) return best ? "" : gettext("Choose an answer first");
      if (!best && !worst) return gettext("Choose the best and the worst answer first");
      return best ? (worst ? "" : gettext("Now choose the worst answer")) : gettext("Now choose the best answer");
    }

    // --- kept in this tab ---
    function remember() {
      const tags = [...form.querySelectorAll("[name=tags]:checked")].map((one) => one.value);
      const kept = { best: chosen("best"), worst: chosen("worst"), cannot: cannot?.checked, tags, reason: form.elements.reason?.value };
      sessionStorage.setItem(memory, JSON.stringify(kept));
    }
    function recall() {
      const kept = JSON.parse(sessionStorage.getItem(memory) || "{}");
      for (const kind of kinds) if (kept[kind] && radio(kind, kept[kind])) radio(kind, kept[kind]).checked = true;
      if (cannot && kept.cannot) cannot.checked = true;
      for (const tag of form.querySelectorAll("[name=tags]")) tag.checked = kept.tags?.includes(tag.value) || false;
      if (form.elements.reason && kept.reason) form.elements.reason.value = kept.reason;
    }

    /** As many as fit stand beside each other, so the order alone does not say in which row an answer stood. */
    function places() {
      const columns = answers.filter((answer) => answer.offsetTop === answers[0].offsetTop).length;
      return { viewport: innerWidth < 640 ? 1 : innerWidth < 960 ? 2 : 3, columns };
    }

    // --- parts ---
    function foldAll() {
      const open = fold.getAttribute("aria-pressed") !== "true";
      for (const part of form.querySelectorAll(".answer .part")) part.open = open;
      fold.setAttribute("aria-pressed", String(open));
      fold.textContent = open ? gettext("Close all parts") : gettext("Open all parts");
    }

    // --- keys ---
    function keys(event) {
      if (!form.isConnected) return document.removeEventListener("keydown", keys);
      const on = event.target, help = document.getElementById("help");
      const helping = help.matches(":popover-open");
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape" && why?.open && !helping) { why.open = false; why.querySelector("summary").focus(); return; }
      if (on.matches("textarea, select")) return;
      if (!Studio.keysAct()) return;
      if (event.key === "?") return help.togglePopover();
      if (helping) return;
      const digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code)?.[1];
      if (digit) return act(event, () => choose(event.shiftKey ? "worst" : "best", answers[digit - 1]?.dataset.letter));
      if (event.key === "o") return act(event, foldAll);
      if (event.key === "Enter" && !on.matches("button, summary, a") && !confirm.disabled) act(event, () => form.requestSubmit(confirm));
    }
    function act(event, what) { event.preventDefault(); what(); }

    // --- which answer is in view, where not all are ---
    const watcher = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const link = form.querySelector(`.letters [data-letter="${target.dataset.letter}"]`);
        isIntersecting ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
      }
    }, { root: columns, threshold: 0.6 });
    for (const answer of answers) watcher.observe(answer);

    form.querySelector(".letters").addEventListener("click", (event) => {
      const link = event.target.closest("a");
      if (!link) return;
      event.preventDefault();
      document.querySelector(link.getAttribute("href")).scrollIntoView({ block: "nearest", inline: "start" });
    });
    fold.addEventListener("click", foldAll);
    form.addEventListener("change", (event) => {
      if (event.target.matches("input[type=radio]")) return changed(event.target.name);
      if (event.target === cannot && cannot.checked) for (const kind of kinds) if (chosen(kind)) radio(kind, chosen(kind)).checked = false;
      draw();
    });
    form.addEventListener("input", (event) => { if (event.target.matches("textarea")) draw(); });
    form.addEventListener("htmx:configRequest", (event) => {
      if (event.target !== form) return;
      const measured = { started_ms: startedAt, sent_ms: Date.now(), decide_ms: Math.round(performance.now() - opened), focus_lost: lost, changes, ...places() };
      if (firstChoice !== null) measured.first_choice_ms = firstChoice;
      event.detail.parameters.client = JSON.stringify(measured);
    });
    const blurred = () => { if (!form.isConnected) return removeEventListener("blur", blurred); lost += 1; };
    addEventListener("blur", blurred);
    document.addEventListener("keydown", keys);
    for (const gone of ["click", "focusin"]) document.addEventListener(gone, function shut(event) {
      if (!form.isConnected) return document.removeEventListener(gone, shut);
      if (why?.open && !why.contains(event.target)) why.open = false;
    });
    recall();
    draw();
    return watcher;
  }

  let form = null, watcher = null;
  function look() {
    const state = document.getElementById("state");
    drawFormulas(state);
    reachable(state);
    const found = state.querySelector("form.answers:not(.pair)");
    if (found === form) return;
    watcher?.disconnect();
    form = found;
    watcher = found ? review(found) : null;
  }
  const state = document.getElementById("state");
  state.addEventListener("htmx:afterSwap", look);
  state.addEventListener("toggle", (event) => reachable(event.target), true);
  addEventListener("resize", () => reachable(state));
  look();
})();
