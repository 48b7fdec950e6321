"use strict";
/* How the clips were watched: whether for long enough to judge, and what is told of it (webapp/review/telemetry.py). */
window.Studio = window.Studio || {};

Studio.watch = (form, { player, loader, onEnough }) => {
  const TICK = 200, TELL = 30000;
  const need = 1000 * Number(form.dataset.watch), memory = `prefine watched ${form.dataset.screening}`;
  const began = performance.now(), started = Date.now();
  const sitting = [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const earlier = JSON.parse(sessionStorage.getItem(memory) || "{}");
  const clips = new Map(), inView = new Set(), away = { times: 0, since: 0, all: 0 };
  let ready = null, first = null, changes = 0, told = "", lacked = "", stopped = false, last = performance.now();

  for (const tile of form.querySelectorAll(".tile")) {
    const video = tile.querySelector("video");
    if (!video) continue;
    const clip = { tile, video, first: null, watched: 0, seen: 0, before: earlier[tile.dataset.letter] || 0, replays: 0, enlarged: 0, stalls: 0, failed: 0 };
    clips.set(tile.dataset.letter, clip);
    video.addEventListener("playing", () => { clip.first ??= since(); });
    video.addEventListener("waiting", () => { if (clip.first !== null && !video.seeking && amid(video)) clip.stalls += 1; });
    video.addEventListener("error", () => { if (!video.dataset.src) clip.failed += 1; });
  }
  /** Away from the seam where it starts again, where it always waits for a moment. */
  const amid = ({ currentTime, duration }) => currentTime > 0.3 && currentTime < duration - 0.3;
  const since = () => Math.round(performance.now() - began);
  const broken = (clip) => clip.tile.classList.contains("is-broken");
  /** A clip is watched for long enough, too, when it was seen once, at any speed; one that cannot play need not be. */
  const enough = (clip) => clip.before + clip.watched >= need || clip.before + clip.seen >= 1000 * (clip.video.duration || Infinity) - 300;
  const missing = () => [...clips].filter(([, clip]) => !broken(clip) && !enough(clip)).map(([letter]) => letter);

  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) isIntersecting ? inView.add(target) : inView.delete(target);
  }, { threshold: 0.5 });
  for (const clip of clips.values()) watcher.observe(clip.video);

  function tick() {
    const now = performance.now(), passed = Math.min(now - last, 2 * TICK);
    last = now;
    for (const clip of clips.values()) {
      if (clip.video.paused || clip.video.readyState < 3 || document.hidden || !inView.has(clip.video)) continue;
      clip.watched += passed;
      clip.seen += passed * clip.video.playbackRate;
    }
    const lacking = missing().join();
    if (lacking === lacked) return; // watched, or its length is known now
    lacked = lacking;
    for (const clip of clips.values()) clip.tile.classList.toggle("is-watched", enough(clip));
    keep();
    onEnough();
  }
  function keep() {
    sessionStorage.setItem(memory, JSON.stringify(Object.fromEntries([...clips].map(([letter, clip]) => [letter, Math.round(clip.before + clip.watched)]))));
  }
  function data() {
    const round = Math.round, now = performance.now();
    const one = (clip) => ({ ...(clip.first === null ? {} : { first_play_ms: clip.first }), watched_ms: round(clip.watched), replays: clip.replays, enlarged: clip.enlarged, stalls: clip.stalls, failed: clip.failed });
    return {
      started_ms: started, sent_ms: Date.now(), load_ms: round((ready ?? now) - began), decide_ms: round(now - (ready ?? began)),
      ...(first === null ? {} : { first_choice_ms: first }), changes, ...player.counts(),
      focus_lost: away.times, away_ms: round(away.all + (away.since ? now - away.since : 0)),
      failed_clips: [...clips.values()].filter((clip) => clip.failed).length, retries: loader.retries, slow_line: Number(loader.lean),
      viewport: innerWidth < 640 ? 1 : innerWidth < 960 ? 2 : 3, enough: Number(!missing().length),
      clips: Object.fromEntries([...clips].map(([letter, clip]) => [letter, one(clip)])),
    };
  }
  /** To the server, without waiting for it: what it does not get is not missed. */
  function tell() {
    if (!form.dataset.viewing || !navigator.onLine) return;
    const said = data(), same = JSON.stringify({ ...said, sent_ms: 0, decide_ms: 0, away_ms: 0 });
    if (same === told) return;
    told = same;
    const body = new FormData();
    for (const [name, value] of [["screening", form.dataset.screening], ["sitting", sitting], ["client", JSON.stringify(said)], ["csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value]]) body.append(name, value);
    navigator.sendBeacon(form.dataset.viewing, body);
  }
  const blurred = () => { away.times += 1; away.since ||= performance.now(); };
  const focused = () => { if (away.since) away.all += performance.now() - away.since; away.since = 0; };
  const hidden = () => { if (document.hidden) tell(); };
  addEventListener("blur", blurred);
  addEventListener("focus", focused);
  addEventListener("pagehide", tell);
  document.addEventListener("visibilitychange", hidden);
  const ticking = setInterval(tick, TICK), telling = setInterval(tell, TELL);
  tick();

  return {
    missing, data,
    /** Seconds of each clip that must have been watched. */
    seconds: () => Math.min(need / 1000, Math.floor(Math.max(1, ...[...clips.values()].map(({ video }) => video.duration || need / 1000)))),
    opened() { ready ??= performance.now(); },
    chose(replaced) { first ??= since(); if (replaced) changes += 1; },
    replayed(videos) { for (const clip of clips.values()) if (videos.includes(clip.video)) clip.replays += 1; },
    enlarged(tile) { clips.get(tile.dataset.letter).enlarged += 1; },
    stop() {
      if (stopped) return;
      stopped = true;
      tell();
      clearInterval(ticking);
      clearInterval(telling);
      watcher.disconnect();
      removeEventListener("blur", blurred);
      removeEventListener("focus", focused);
      removeEventListener("pagehide", tell);
      document.removeEventListener("visibilitychange", hidden);
    },
  };
};
