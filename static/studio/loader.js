"use strict";
/* Getting the clips: stills first, then all at once, or one after another where the line is slow or data costs money. */
window.Studio = window.Studio || {};

Studio.loader = (root, { onBroken, onBack, onLean }) => {
  const PATIENCE = 6000, STUCK = 15000, AGAIN = [1500, 4000], STILLS = 3000;
  const WORDS = { queued: gettext("Waits for its turn"), loading: gettext("Loading"), slow: gettext("Slow connection, still loading"), again: gettext("Did not load. Trying again") };
  const clips = [...root.querySelectorAll(".tile video")].map((video) => ({ video, tile: video.closest(".tile"), address: video.getAttribute("src"), state: "queued", tries: 0, again: 0 }));
  const line = navigator.connection;
  const timers = new Set();
  let lean = Boolean(line?.saveData || /2g|3g/.test(line?.effectiveType || "")), stopped = false, retries = 0;

  const after = (delay, what) => { const timer = setTimeout(() => { timers.delete(timer); if (!stopped) what(); }, delay); timers.add(timer); return timer; };
  const whole = ({ video }) => video.buffered.length && video.buffered.end(video.buffered.length - 1) > video.duration - 0.2;
  const busy = (clip) => ["loading", "slow", "again"].includes(clip.state);

  function set(clip, state) {
    clip.state = state;
    clip.tile.dataset.load = state;
    const words = clip.tile.querySelector(".slow");
    if (WORDS[state] && words.textContent !== WORDS[state]) words.textContent = WORDS[state];
    if (state === "loading") clip.moved = performance.now();
  }
  /** As many as the line bears: all, or one. */
  function next() {
    for (const clip of clips) {
      if (lean && clips.some(busy)) return;
      if (clip.state === "queued") load(clip);
    }
  }
  function load(clip) {
    const { video } = clip, going = !clip.again && !video.paused && video.hasAttribute("src");
    set(clip, "loading");
    if (going) { // somebody pressed Play before its turn: loading it again would stop it
      if (video.readyState >= 4) arrived(clip);
      return;
    }
    delete video.dataset.src;
    video.src = clip.again ? `${clip.address}?again=${clip.again}` : clip.address; // past what the browser kept of it
    video.preload = "auto";
    video.load();
  }
  function arrived(clip) {
    if (clip.state === "ready" || clip.state === "queued") return;
    const back = clip.tries > 0 || lean;
    clip.tries = 0;
    set(clip, "ready");
    if (back) onBack(clip.video);
    next();
  }
  function failed(clip) {
    if (clip.state === "broken" || clip.state === "again" || clip.video.dataset.src) return;
    if (clip.tries >= AGAIN.length) { set(clip, "broken"); onBroken(clip.tile); next(); return; }
    set(clip, "again");
    retries += 1;
    clip.again += 1;
    after(AGAIN[clip.tries++], () => { if (clip.state === "again") load(clip); });
  }
  function retry(tile) {
    const clip = clips.find((one) => one.tile === tile);
    retries += 1;
    clip.again += 1;
    clip.tries = AGAIN.length; // what is asked for by hand says at once how it went
    load(clip);
  }
  /** One after another from now on: what has hardly begun waits for its turn again. */
  function goLean() {
    lean = true;
    onLean(true);
    const first = clips.find(busy);
    for (const clip of clips) {
      if (clip === first || !busy(clip) || clip.video.readyState >= 3) continue;
      set(clip, "queued");
      clip.video.dataset.src = clip.address;
      clip.video.removeAttribute("src");
      clip.video.load();
    }
  }
  function goFull() { lean = false; onLean(false); next(); }
  /** A clip that somebody looks at comes first. */
  function want(tile) {
    const clip = clips.find((one) => one.tile === tile);
    if (!lean || clip?.state !== "queued") return;
    clips.splice(clips.indexOf(clip), 1);
    clips.unshift(clip);
  }
  function look() {
    const now = performance.now();
    for (const clip of clips) {
      if (!busy(clip) || clip.state === "again") continue;
      if (now - clip.moved > PATIENCE) set(clip, "slow");
      if (now - clip.moved > STUCK) failed(clip);
    }
  }

  for (const clip of clips) {
    const { video } = clip;
    set(clip, "queued");
    video.addEventListener("progress", () => { clip.moved = performance.now(); if (clip.state === "slow") set(clip, "loading"); if (whole(clip)) arrived(clip); });
    video.addEventListener("canplaythrough", () => arrived(clip));
    video.addEventListener("suspend", () => { if (video.readyState >= 3) arrived(clip); });
    video.addEventListener("error", () => failed(clip));
  }
  const stills = [...root.querySelectorAll(".contact img")].filter((still) => !still.complete);
  const seen = Promise.all(stills.map((still) => new Promise((done) => { still.addEventListener("load", done); still.addEventListener("error", done); })));
  if (lean) onLean(true);
  Promise.race([seen, new Promise((done) => after(STILLS, done))]).then(() => { if (!stopped) next(); });
  after(STILLS + PATIENCE, () => { if (!lean && clips.length > 1 && !clips.some(({ video }) => video.readyState >= 3) && clips.some(busy)) goLean(); });
  const looking = setInterval(look, 1000);
  const online = () => { for (const clip of clips) if (clip.state === "broken") { onBack(null, clip.tile); retry(clip.tile); } };
  addEventListener("online", online);

  return {
    retry, want, goFull,
    get lean() { return lean; },
    get retries() { return retries; },
    stop() { stopped = true; clearInterval(looking); timers.forEach(clearTimeout); removeEventListener("online", online); },
  };
};
