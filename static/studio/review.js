"use strict";
/* Choosing the best and the worst clip. What was chosen is kept in this tab until it has arrived at the server. */
Studio.review = (form) => {
  const tiles = [...form.querySelectorAll(".tile")];
  const cannot = form.elements.cannot_tell, grid = form.querySelector(".grid");
  const cannots = [cannot, form.elements.broken].filter(Boolean), cannotBox = form.querySelector(".cannot");
  const texts = {
    any: gettext("Choose a video first"), both: gettext("Choose the best and the worst video first"),
    best: gettext("Now choose the best video"), worst: gettext("Now choose the worst video"),
  };
  const choice = Studio.choice(form, { tiles, links: ".contact", cannots, texts });
  const { kinds, confirm, why, radio, chosen } = choice, { act } = Studio;
  const failed = new Set();
  let tabbed = false;

  const player = Studio.player(form, { fps: Number(form.dataset.fps), onReady: () => queueMicrotask(opened), onReplay: (videos) => watch.replayed(videos) });
  const loader = Studio.loader(form, { onBroken: broke, onBack: back, onLean: (lean) => { form.querySelector(".slow-line").hidden = !lean; } });
  const watch = Studio.watch(form, { player, loader, onEnough: () => queueMicrotask(draw) });
  const name = (words, tile) => interpolate(words, { letter: tile.dataset.letter }, true);
  const before = {};

  // --- the choice ---
  function choose(kind, letter) {
    const input = radio(kind, letter);
    if (!input || input.disabled) return;
    input.checked = true;
    changed(kind);
  }
  function changed(kind) {
    choice.exclude(kind);
    watch.chose(Boolean(before[kind]) && before[kind] !== chosen(kind));
    before[kind] = chosen(kind);
    draw();
  }
  function cannotJudge(box) {
    for (const other of cannots) if (other !== box) other.checked = false;
    if (box.checked) choice.unchoose();
    watch.chose(false);
    draw();
  }
  function draw() {
    for (const kind of kinds) fill(form.querySelector(`[data-slot="${kind}"]`), chosen(kind));
    choice.draw(choice.wanting() || unseen());
    cannotBox?.classList.toggle("is-said", cannots.some((box) => box.checked));
    for (const tile of tiles) {
      const link = choice.link(tile), seen = tile.classList.contains("is-watched");
      link.classList.toggle("is-watched", seen);
      link.setAttribute("aria-label", name(seen ? gettext("Video %(letter)s, watched") : gettext("Video %(letter)s"), tile));
    }
    choice.remember();
  }
  function fill(slot, letter) {
    const poster = letter && document.querySelector(`#clip-${letter} video`)?.poster;
    slot.classList.toggle("is-set", Boolean(letter));
    slot.querySelector("[data-slot-said]").textContent = letter ? interpolate(gettext("video %(letter)s"), { letter }, true) : cannots.some((box) => box.checked) ? "" : gettext("not chosen yet");
    const thumb = slot.querySelector(".thumb");
    if (thumb.dataset.letter === letter) return;
    thumb.dataset.letter = letter;
    thumb.replaceChildren(...(poster ? [Object.assign(new Image(), { src: poster, alt: "" })] : []));
  }
  /** Which clips were not watched for long enough; nobody is held up by one that cannot play, or by what is wrong with them. */
  function unseen() {
    const letters = form.elements.broken?.checked ? [] : watch.missing();
    if (!letters.length) return "";
    const seconds = watch.seconds(), said = { seconds, letters: letters.join(", ") };
    return interpolate(letters.length === tiles.length
      ? ngettext("Watch every video for %(seconds)s second first", "Watch every video for %(seconds)s seconds first", seconds)
      : ngettext("Watch %(letters)s for %(seconds)s second first", "Watch %(letters)s for %(seconds)s seconds first", seconds), said, true);
  }

  // --- one clip large ---
  function enlarge(tile) {
    const now = tile && !tile.classList.contains("is-large") ? tile : null;
    for (const one of tiles) {
      const large = one === now, button = one.querySelector(".enlarge");
      one.classList.toggle("is-large", large);
      button?.setAttribute("aria-pressed", String(large));
      button?.setAttribute("aria-label", large ? gettext("Back to all videos") : name(gettext("Enlarge video %(letter)s"), one));
    }
    grid.classList.toggle("has-large", Boolean(now));
    if (now) { watch.enlarged(now); loader.want(now); }
    player.alone(now?.querySelector("video") || null);
    now?.scrollIntoView({ block: "nearest", inline: "center" });
  }

  // --- a clip that does not load ---
  function say(words) { document.getElementById("announce").textContent = words; }
  function opened() { watch.opened(); say(gettext("The videos are ready.")); }
  function broke(tile) {
    const again = failed.has(tile);
    failed.add(tile);
    tile.classList.add("is-broken");
    tile.querySelector(".broken").hidden = false;
    tile.querySelector('[data-do="report"]').hidden = !again;
    say(name(gettext("Video %(letter)s did not load. You can try again, or choose among the others."), tile));
    draw();
  }
  /** A clip that came, or comes again. */
  function back(video, tile) {
    if (tile) mend(tile);
    else if (loader.lean) player.begin();
    if (video) player.join(video);
  }
  function mend(tile) {
    tile.querySelector(".broken").hidden = true;
    tile.classList.remove("is-broken");
    draw();
  }
  function retry(tile) {
    mend(tile);
    loader.retry(tile);
  }
  async function report(tile) {
    const body = new URLSearchParams({ clip: tile.dataset.clip, csrfmiddlewaretoken: form.elements.csrfmiddlewaretoken.value });
    const answer = await fetch(form.dataset.report, { method: "POST", body }).catch(() => null);
    tile.querySelector(".broken p").textContent = answer ? await answer.text() : gettext("That did not reach us. Please try again in a moment.");
    tile.querySelector('[data-do="report"]').hidden = Boolean(answer?.ok);
  }

  // --- keys ---
  function keys(event) {
    if (!form.isConnected) return document.removeEventListener("keydown", keys);
    const on = event.target, help = document.getElementById("help");
    const helping = help.matches(":popover-open");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && !helping) { const open = [why, cannotBox].find((box) => box?.open); if (open) shutBox(open); else enlarge(null); return; }
    if (on.matches("textarea, select")) return;
    if (!Studio.keysAct()) return;
    if (event.key === "?") return help.togglePopover();
    if (helping) return;
    const digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code)?.[1];
    if (digit) return act(event, () => choose(event.shiftKey ? "worst" : "best", tiles[digit - 1]?.dataset.letter));
    if (event.key === "Tab") tabbed = true;
    if (event.key === " " && !(tabbed && on.matches("button, summary, a, input"))) return act(event, () => { on.blur(); player.toggle(); });
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step && !(tabbed && on.matches("input"))) return act(event, () => { on.blur(); player.step(step); });
    const meant = on.matches("button, summary, a") && (tabbed || !on.matches(".enlarge, .contact a"));
    if (event.key === "Enter" && !meant && !confirm.disabled) act(event, () => form.requestSubmit(confirm));
  }
  /** After Tab, keys mean the thing in focus; after a click, the videos. */
  const clicked = () => { if (!form.isConnected) return removeEventListener("pointerdown", clicked); tabbed = false; };
  addEventListener("pointerdown", clicked);

  // --- phone: which clip is in the middle ---
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) loader.want(target);
      const dot = choice.link(target);
      isIntersecting ? dot.setAttribute("aria-current", "true") : dot.removeAttribute("aria-current");
    }
  }, { root: grid, threshold: 0.7 });

  for (const tile of tiles) {
    watcher.observe(tile);
    const video = tile.querySelector("video");
    if (!video) continue;
    tile.querySelector(".enlarge").addEventListener("click", () => enlarge(tile));
    tile.querySelector('[data-do="retry"]').addEventListener("click", () => retry(tile));
    tile.querySelector('[data-do="report"]').addEventListener("click", () => report(tile));
  }
  form.querySelector(".contact").addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link) return;
    event.preventDefault();
    document.querySelector(link.getAttribute("href")).scrollIntoView({ block: "nearest", inline: "center" });
  });
  form.addEventListener("change", (event) => {
    if (event.target.matches("input[type=radio]")) return changed(event.target.name);
    if (cannots.includes(event.target)) return cannotJudge(event.target);
    draw();
  });
  form.addEventListener("input", (event) => { if (event.target.matches("textarea")) draw(); });
  form.addEventListener("htmx:configRequest", (event) => {
    if (event.target === form) event.detail.parameters.client = JSON.stringify(watch.data());
  });
  form.querySelector('[data-do="all"]').addEventListener("click", () => loader.goFull());
  document.addEventListener("keydown", keys);
  Studio.shutElsewhere(form, [why, cannotBox]);
  function shutBox(box) {
    box.open = false;
    box.querySelector("summary").focus();
  }
  choice.recall();
  for (const kind of kinds) before[kind] = chosen(kind);
  draw();
  return { stop() { watch.stop(); loader.stop(); player.stop(); watcher.disconnect(); } };
};

(() => {
  let current = null, form = null;
  function look() {
    const found = document.querySelector("form.review");
    if (found === form) return;
    current?.stop();
    form = found;
    current = found ? Studio.review(found) : null;
  }
  document.getElementById("state").addEventListener("htmx:afterSwap", look);
  look();
})();
