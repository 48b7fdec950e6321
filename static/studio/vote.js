"use strict";
/* One pair of clips, or of answers to a problem, and one choice; or one of them, with marks. Without this script it is a
   plain form. */
(() => {
  const form = document.querySelector("form.pair");
  const tiles = [...form.querySelectorAll(".tile, .answer")], fold = form.querySelector('[data-do="fold"]');
  const confirm = form.querySelector(".confirm .button"), reason = form.querySelector("#reason");
  const strength = form.querySelector(".strength"), help = document.getElementById("help");
  const asked = (form.dataset.asked || "choice").split(" "), single = Boolean(form.dataset.asked); // what is answered
  const opened = performance.now(), failed = new Set();
  let loaded = fold ? opened : null, lost = 0, tabbed = false, sent = false;

  /* Answers are read: nothing plays there, and their parts fold. */
  const player = fold ? null : Studio.player(form, { fps: Number(form.dataset.fps), onReady: () => { loaded = performance.now(); } });
  const chosen = (name) => form.querySelector(`input[name="${name}"]:checked`)?.value || form.querySelector(`input[name="${name}"][type=number]:valid`)?.value || "";

  function choose(value) {
    const input = [...form.querySelectorAll(`input[name=${asked[0]}]`)].find((one) => one.value === value);
    if (!input || sent) return;
    input.checked = true;
    draw();
  }
  function draw() {
    for (const tile of single ? [] : tiles) tile.classList.toggle("is-chosen", tile.querySelector("input[name=choice]").checked);
    if (strength) strength.disabled = chosen("choice") === "same";
    const missing = wanting();
    confirm.disabled = Boolean(missing) || sent;
    if (reason.textContent !== missing) reason.textContent = missing;
  }
  /** Why the answer cannot be confirmed yet; empty when it can. */
  function wanting() {
    if (single) return asked.every(chosen) ? "" : player ? gettext("Choose a rating first") : gettext("Give points first");
    if (!chosen("choice")) return gettext("Choose one first");
    return strength && !strength.disabled && !chosen("strength") ? gettext("Now say how much better it is") : "";
  }

  function broke(tile) {
    failed.add(tile);
    tile.classList.add("is-broken");
    tile.querySelector(".broken").hidden = false;
  }
  function retry(tile) {
    const video = tile.querySelector("video");
    tile.querySelector(".broken").hidden = true;
    tile.classList.remove("is-broken");
    video.addEventListener("canplay", () => player.join(video), { once: true });
    video.load();
  }

  const ANSWERS = { Digit1: "left", Numpad1: "left", Digit2: "right", Numpad2: "right", Digit0: "same", Numpad0: "same" };
  const LETTERS = { a: "left", b: "right" };
  function keys(event) {
    const on = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || on.matches("select")) return;
    if (!Studio.keysAct()) return;
    if (event.key === "?") return help.togglePopover();
    if (help.matches(":popover-open")) return;
    if (event.key === "Tab") tabbed = true;
    const typing = on.matches("input[type=number]"), digit = /^(?:Digit|Numpad)([1-5])$/.exec(event.code)?.[1];
    const answer = single ? player && digit : ANSWERS[event.code] || LETTERS[event.key.toLowerCase()];
    if (answer && !typing) return act(event, () => choose(answer));
    if (fold && event.key === "o") return act(event, foldAll);
    if (player && event.key === " " && !(tabbed && on.matches("button, summary, a, input"))) return act(event, () => { on.blur(); player.toggle(); });
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (player && step && !(tabbed && on.matches("input"))) return act(event, () => { on.blur(); player.step(step); });
    if (event.key === "Enter" && !event.repeat && !(tabbed && on.matches("button, summary, a"))) act(event, () => { if (!confirm.disabled) form.requestSubmit(confirm); });
  }
  const { act } = Studio, foldAll = () => Studio.foldAll(form, fold);

  fold?.addEventListener("click", foldAll);
  if (fold && single) foldAll(); // who grades an answer reads all of it
  for (const tile of player ? tiles : []) {
    const video = tile.querySelector("video");
    video.addEventListener("error", () => broke(tile));
    if (video.error) broke(tile);
    tile.querySelector('[data-do="retry"]').addEventListener("click", () => retry(tile));
  }
  form.addEventListener("change", draw);
  form.addEventListener("input", draw);
  form.addEventListener("submit", (event) => {
    if (sent) return event.preventDefault();
    sent = true;
    const now = performance.now(), since = loaded ?? opened;
    form.elements.client.value = JSON.stringify({
      decide_ms: Math.round(now - since), load_ms: Math.round(since - opened), plays: player?.plays() ?? 0, focus_lost: lost, failed_clips: failed.size,
    });
    draw();
  });
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); }); // back from the next pair: where one is now
  addEventListener("pointerdown", () => { tabbed = false; });
  addEventListener("blur", () => { lost += 1; });
  document.addEventListener("keydown", keys);
  draw();
})();
