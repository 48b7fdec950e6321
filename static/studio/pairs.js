"use strict";
/* Many pairs of videos, one key each. An answer is kept in this browser before it is sent, and the next pairs are loaded
 * meanwhile, so that the page neither loses an answer nor waits for one. */
(() => {
  const GUARD = 250, AGAIN = 2000, REST_AFTER = 40, REST_GAP = 60_000, BEAT = 20_000, IDLE = 120_000, MOST_SENT = 100, TIGHT = 0.08, ROUND = 1500;
  const KEYS = { ArrowLeft: "left", Digit1: "left", Numpad1: "left", ArrowRight: "right", Digit2: "right", Numpad2: "right",
    ArrowDown: "equal", Digit0: "equal", Numpad0: "equal", ArrowUp: "skip", Digit9: "skip", Numpad9: "skip" };
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let page = null, still = calm.matches, sinceRest = 0, answeredAt = 0;

  function open(root) {
    const find = (name) => root.querySelector(`[data-${name}]`), press = (name) => root.querySelector(`[data-do="${name}"]`);
    const stage = find("stage"), card = find("card"), help = document.getElementById("help");
    const token = root.querySelector("[name=csrfmiddlewaretoken]").value, kept = `prefine pairs ${root.dataset.address}`;
    const samples = root.dataset.samples && JSON.parse(root.dataset.samples), practice = find("practice");
    const decks = [], past = [];
    let outbox = remembered(), sending = false, state = { done: 0, total: 0, left: "" };
    let shownAt = 0, acted = performance.now(), resting = false, over = false, fresh = true, pressed = 0;
    let last = outbox.reduce((most, one) => Math.max(most, one.sequence), 0);

    /** A browser that keeps nothing still sends what it can. */
    function remembered() { if (samples) return []; try { return JSON.parse(localStorage.getItem(kept) || "[]"); } catch { return []; } }
    function remember() { if (!samples) try { localStorage.setItem(kept, JSON.stringify(outbox)); } catch { /* full, or switched off */ } }

    // --- the pairs ---
    function make(pair) {
      const deck = document.createElement("div");
      deck.className = "deck";
      deck.pair = pair;
      deck.videos = ["left", "right"].map((side, place) => clip(deck, pair, side, "AB"[place]));
      hide(deck);
      stage.append(deck);
      return deck;
    }
    function clip(deck, pair, side, letter) {
      const figure = document.createElement("figure"), video = document.createElement("video"), name = document.createElement("figcaption");
      Object.assign(video, { muted: true, playsInline: true, preload: "auto", poster: pair[`${side}_still`], src: pair[side] });
      video.setAttribute("aria-label", interpolate(gettext("Video %s"), [letter]));
      name.textContent = letter;
      name.setAttribute("aria-hidden", "true");
      video.addEventListener("error", () => broke(figure, video, pair[side]));
      for (const event of ["loadeddata", "canplaythrough"]) video.addEventListener(event, () => { if (deck === decks[0]) begin(deck); });
      video.addEventListener("ended", () => { if (deck === decks[0] && hasEnded(deck)) rewind(deck); });
      figure.append(video, name);
      deck.append(figure);
      return video;
    }
    function broke(figure, video, address) {
      if (figure.querySelector(".broken")) return;
      const box = document.createElement("div"), button = document.createElement("button");
      box.className = "broken";
      box.textContent = gettext("This video does not play.");
      Object.assign(button, { className: "button", type: "button", textContent: gettext("Try again") });
      button.addEventListener("click", () => { box.remove(); video.src = `${address}?again=${Date.now()}`; draw(); });
      box.append(button);
      figure.append(box);
      draw();
    }
    const hide = (deck) => { deck.setAttribute("aria-hidden", "true"); deck.inert = true; deck.begun = false; for (const video of deck.videos) video.pause(); };
    const ready = (deck) => deck.videos.every((video) => video.readyState >= 2 && !video.error);
    const hasEnded = (deck) => deck.videos.every((video) => video.ended || video.error);
    /** Videos of a fall at once last a fifth of a second: their last pictures stay until a round of both takes ROUND. */
    function rewind(deck) {
      const longest = Math.max(...deck.videos.map((video) => video.duration || 0));
      setTimeout(() => { if (deck === decks[0] && hasEnded(deck)) again(deck); }, Math.max(0, ROUND - 1000 * longest));
    }
    function again(deck) {
      for (const video of deck.videos) if (video.currentTime) video.currentTime = 0;
      if (!still) for (const video of deck.videos) video.play().catch(() => {});
    }
    /** Show the first pair; its videos run together once both are there. */
    function show() {
      const deck = decks[0], fresh = deck && deck.hasAttribute("aria-hidden");
      for (const other of decks.slice(1)) if (!other.hasAttribute("aria-hidden")) hide(other);
      if (fresh) {
        deck.removeAttribute("aria-hidden");
        deck.inert = false;
        begin(deck);
      }
      draw();
    }
    function begin(deck) {
      if (deck.begun || !ready(deck) || resting) return draw();
      deck.begun = true;
      again(deck);
      shownAt = performance.now();
      if (pressed) requestAnimationFrame(() => { root.dataset.swap = Math.round(performance.now() - pressed); pressed = 0; });
      draw();
    }
    /** The second video is held to the first. */
    function hold() {
      const [one, other] = decks[0]?.videos || [];
      if (one && !one.paused && !one.ended && !other.ended && Math.abs(one.currentTime - other.currentTime) > TIGHT) other.currentTime = one.currentTime;
    }

    // --- answers ---
    function answer(given) {
      const deck = decks[0], now = performance.now();
      if (!deck || resting || over) return;
      const broken = !ready(deck) && deck.querySelector(".broken");
      if (!(deck.begun && now - shownAt > GUARD) && !(broken && given === "skip")) return;
      acted = pressed = now;
      decks.shift();
      past.push({ pair: deck.pair, deck });
      hide(deck);
      while (past.length > 2 && past.at(-3).deck) { past.at(-3).deck.remove(); past.at(-3).deck = null; }
      keep({ token: deck.pair.token, answer: given, seconds: broken ? null : (now - shownAt) / 1000 });
      state.done += 1;
      sinceRest = Date.now() - answeredAt > REST_GAP ? 1 : sinceRest + 1;
      answeredAt = Date.now();
      flash(given);
      if (sinceRest >= REST_AFTER && decks.length) rest();
      if (practice) { over = true; practice.elements.answer.value = given; practice.requestSubmit(); }
      show();
    }
    function undo() {
      const before = past.pop();
      if (!before || over) return;
      acted = performance.now();
      if (resting) goOn();
      const deck = before.deck || make(before.pair);
      decks.unshift(deck);
      keep({ token: before.pair.token, answer: "", seconds: null });
      state.done -= 1;
      show();
    }
    /** Kept here first: a browser that is closed now sends it when it comes back. */
    function keep(change) {
      last = Math.max(last + 1, Date.now());
      outbox.push({ ...change, sequence: last });
      remember();
      send();
    }
    async function send() {
      if (sending || samples) return;
      sending = true;
      const sent = outbox.slice(0, MOST_SENT);
      try {
        const response = await fetch(root.dataset.address, { method: "POST", keepalive: true, headers: { "Content-Type": "application/json", "X-CSRFToken": token }, body: JSON.stringify({ changes: sent }) });
        if (!response.ok) throw new Error(response.status);
        const found = await response.json();
        outbox = outbox.filter((one) => !sent.some((other) => other.sequence === one.sequence));
        remember();
        find("said").textContent = "";
        sending = false;
        if (page === root) take(found);
        if (outbox.length) send();
      } catch {
        sending = false;
        if (page !== root) return;
        if (outbox.length) find("said").textContent = gettext("Your answers are kept in this browser. They are sent as soon as there is a connection.");
        setTimeout(send, AGAIN);
      }
    }
    function take(found) {
      over = Boolean(found.over);
      if (!over && !outbox.length) state = found;
      if (fresh) past.push(...(found.given || []).map((pair) => ({ pair, deck: null })));
      fresh = false;
      const unsent = new Set(outbox.map((one) => one.token)), asked = new Set(found.pairs.map((pair) => pair.token));
      for (const one of [...past]) if (asked.has(one.pair.token) && !unsent.has(one.pair.token)) { one.deck?.remove(); past.splice(past.indexOf(one), 1); }
      const mine = new Set([...decks.map((deck) => deck.pair.token), ...outbox.map((one) => one.token), ...past.map((one) => one.pair.token)]);
      for (const pair of found.pairs) if (!mine.has(pair.token)) decks.push(make(pair));
      const given = new Set(found.pairs.map((pair) => pair.token));
      if (!outbox.length) for (const deck of decks.slice(1)) if (!given.has(deck.pair.token)) { deck.remove(); decks.splice(decks.indexOf(deck), 1); }
      show();
      if (over) htmx.trigger(document.getElementById("live"), "refresh");
    }

    // --- what is said ---
    function rest() {
      resting = true;
      sinceRest = 0;
      say(gettext("Time for a short rest"), gettext("Look away for a moment. Nothing is lost, and nobody is waiting."), true);
      press("go-on").focus();
    }
    function goOn() {
      resting = false;
      card.hidden = true;
      stage.hidden = false;
      if (decks[0]) begin(decks[0]);
      draw();
    }
    function say(title, text, button = false) {
      card.hidden = false;
      stage.hidden = true;
      if (find("card-title").textContent !== title) { find("card-title").textContent = title; find("card-text").textContent = text; announce(`${title}. ${text}`); }
      press("go-on").hidden = !button;
    }
    const announce = (text) => { document.getElementById("announce").textContent = text; };
    function draw() {
      const deck = decks[0], usable = Boolean(deck?.begun) && !resting && !over, broken = deck?.querySelector(".broken");
      for (const button of root.querySelectorAll("[data-answer]")) button.disabled = !usable && !(broken && button.dataset.answer === "skip");
      press("undo").disabled = !past.length || over;
      find("count").textContent = state.total ? interpolate(gettext("%(done)s of %(total)s answered"), { done: Math.min(state.done, state.total), total: state.total }, true) : "";
      find("left").textContent = deck ? state.left : "";
      root.querySelector("progress").value = state.total ? 100 * state.done / state.total : 0;
      const motion = press("play");
      motion.querySelector("span").textContent = still ? gettext("Show motion") : gettext("Stop motion");
      const icon = motion.querySelector("use");
      icon.setAttribute("href", icon.getAttribute("href").replace(/#.*/, still ? "#play" : "#pause"));
      if (resting) return;
      if (deck) { card.hidden = true; stage.hidden = false; }
      else if (state.total && state.done >= state.total) say(gettext("This set is done"), gettext("Thank you. For some seconds you can still take your last answer back."));
      else if (state.total) say(gettext("Nothing is left for you in this set"), gettext("Others are answering the last pairs. You may wait here, or come back later with the same link."));
    }
    function flash(given) {
      const button = root.querySelector(`[data-answer="${given}"]`);
      button.classList.add("is-given");
      setTimeout(() => button.classList.remove("is-given"), 150);
    }
    function move() {
      still = !still;
      for (const video of decks[0]?.videos || []) still ? video.pause() : video.play().catch(() => {});
      draw();
    }

    function keys(event) {
      const on = event.target;
      if (event.ctrlKey || event.metaKey || event.altKey || on.matches("select, textarea, input:not([type=checkbox])")) return;
      if (event.key === "Escape" || event.key === "Tab" || !Studio.keysAct()) return;
      if (event.key === "?") return help.togglePopover();
      if (help.matches(":popover-open")) return;
      const given = KEYS[event.code];
      if (given) { event.preventDefault(); if (!event.repeat) answer(given); return; }
      if (event.key === "Backspace" || event.key.toLowerCase() === "z") { event.preventDefault(); if (!event.repeat) undo(); return; }
      if (event.key === " " && !on.matches("button, a")) { event.preventDefault(); resting ? goOn() : move(); }
    }
    for (const button of root.querySelectorAll("[data-answer]")) button.addEventListener("click", () => answer(button.dataset.answer));
    press("undo").addEventListener("click", undo);
    press("play").addEventListener("click", move);
    press("go-on").addEventListener("click", goOn);
    addEventListener("keydown", keys);
    addEventListener("online", send);
    const holding = setInterval(hold, 250), beating = setInterval(() => {
      const asks = !decks.length || performance.now() - acted < IDLE;
      if (!document.hidden && asks) send();
    }, BEAT), looking = setInterval(() => { if (!decks.length && !document.hidden) send(); }, 5000);
    root.close = () => { removeEventListener("keydown", keys); removeEventListener("online", send); for (const timer of [holding, beating, looking]) clearInterval(timer); };

    draw();
    if (samples) take({ done: 0, total: samples.length, left: "", pairs: samples });
    send();
  }

  function arrived() {
    const root = document.getElementById("pairs");
    if (root === page) return;
    page?.close?.();
    page = root;
    if (root) open(root);
  }
  document.getElementById("state").addEventListener("htmx:afterSettle", arrived);
  arrived();
})();
