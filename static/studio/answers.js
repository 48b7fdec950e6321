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
    const answers = [...form.querySelectorAll(".answer")], columns = form.querySelector(".columns");
    const cannot = form.elements.cannot_tell, fold = form.querySelector('[data-do="fold"]');
    const texts = {
      any: gettext("Choose an answer first"), both: gettext("Choose the best and the worst answer first"),
      best: gettext("Now choose the best answer"), worst: gettext("Now choose the worst answer"),
    };
    const choice = Studio.choice(form, { tiles: answers, links: ".letters", cannots: cannot ? [cannot] : [], texts });
    const { kinds, confirm, why, radio, chosen } = choice, { act } = Studio;
    const opened = performance.now(), startedAt = Date.now();
    let lost = 0, changes = 0, firstChoice = null;

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
      choice.exclude(kind);
      draw();
    }
    function draw() {
      for (const kind of kinds) fill(form.querySelector(`[data-slot="${kind}"]`), chosen(kind));
      choice.draw(choice.wanting());
      choice.remember();
    }
    function fill(slot, letter) {
      slot.classList.toggle("is-set", Boolean(letter));
      slot.querySelector(".thumb").textContent = letter;
      slot.querySelector("[data-slot-said]").textContent = letter ? interpolate(gettext("answer %(letter)s"), { letter }, true) : cannot?.checked ? "" : gettext("not chosen yet");
    }
    /** As many as fit stand beside each other, so the order alone does not say in which row an answer stood. */
    function places() {
      const columns = answers.filter((answer) => answer.offsetTop === answers[0].offsetTop).length;
      return { viewport: innerWidth < 640 ? 1 : innerWidth < 960 ? 2 : 3, columns };
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
      if (event.key === "o") return act(event, () => Studio.foldAll(form, fold));
      if (event.key === "Enter" && !on.matches("button, summary, a") && !confirm.disabled) act(event, () => form.requestSubmit(confirm));
    }

    // --- which answer is in view, where not all are ---
    const watcher = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const link = choice.link(target);
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
    fold.addEventListener("click", () => Studio.foldAll(form, fold));
    form.addEventListener("change", (event) => {
      if (event.target.matches("input[type=radio]")) return changed(event.target.name);
      if (event.target === cannot && cannot.checked) choice.unchoose();
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
    Studio.shutElsewhere(form, [why]);
    choice.recall();
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
