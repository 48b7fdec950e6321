"use strict";
/* Several clips, one transport. The first clip that plays leads; the others are held to it, to a frame or two. */
window.Studio = window.Studio || {};

Studio.player = (root, { fps, onReady, onReplay }) => {
  const CHECK = 250, TIGHT = 0.01, LOOSE = 0.25, GATHER = 8000;
  const find = (name) => root.querySelector(`[data-do="${name}"]`);
  const scrub = root.querySelector(".scrub"), clock = root.querySelector(".clock");
  const videos = () => [...root.querySelectorAll(".tile:not(.is-broken) video")];
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let playing = false, rate = 1, looping = true, only = null, scrubbing = false, begun = false;
  const count = { plays: 0, scrubs: 0, steps: 0, speeds: 0 };

  const one = (seconds) => seconds.toLocaleString(document.documentElement.lang, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  const usable = (video) => video.readyState >= 2 && !video.error;
  const moving = () => (only ? [only] : videos());
  const leader = () => moving().find((video) => video.readyState >= 3 && !video.error) || moving().find(usable) || moving()[0];
  const duration = () => leader()?.duration || 10;
  const time = () => leader()?.currentTime || 0;

  function draw() {
    root.classList.toggle("is-playing", playing);
    find("play").setAttribute("aria-label", playing ? gettext("Pause") : gettext("Play"));
    scrub.max = duration();
    if (!scrubbing) scrub.value = time();
    const at = { time: one(time()), all: one(duration()) };
    clock.textContent = interpolate(gettext("%(time)s / %(all)s s"), at, true);
    scrub.setAttribute("aria-valuetext", interpolate(gettext("%(time)s seconds of %(all)s"), at, true));
  }
  function play() {
    if (!leader()) return;
    if (time() >= duration() - 0.05) seek(0);
    playing = true;
    count.plays += 1;
    for (const video of moving()) { video.playbackRate = rate; video.play().catch(() => {}); }
    draw();
  }
  function pause() {
    playing = false;
    for (const video of videos()) video.pause();
    seek(time(), true);
  }
  function seek(to, exactly) {
    const at = Math.min(Math.max(0, to), duration());
    for (const video of videos()) if (exactly ? Math.abs(video.currentTime - at) > 0.001 : true) video.currentTime = at;
    draw();
  }
  /** Stops, and goes on by this many frames, to the middle of one: an edge may show either side of it. */
  function step(frames) {
    count.steps += 1;
    const frame = Math.floor(time() * fps + 0.001) + frames;
    playing = false;
    for (const video of videos()) video.pause();
    seek((Math.min(Math.max(0, frame), Math.round(duration() * fps) - 1) + 0.5) / fps);
  }
  /** Large gaps are jumped; small ones are closed by running a little faster or slower, which nobody sees.
   * One that the browser has stopped runs again, the leading one too, or the others would wait for it for ever. */
  function hold() {
    const first = leader();
    if (!playing || !first || first.seeking) return;
    for (const video of moving()) {
      if (!usable(video)) continue;
      const gap = video.currentTime - first.currentTime;
      if (Math.abs(gap) > LOOSE) video.currentTime = first.currentTime;
      video.playbackRate = Math.abs(gap) > TIGHT && Math.abs(gap) <= LOOSE ? rate * (1 - Math.sign(gap) * Math.min(0.2, Math.abs(gap) / 0.5)) : rate;
      if (video.paused && !video.ended) video.play().catch(() => {});
    }
  }
  function ended(event) {
    if (event.target !== leader() || !playing) return;
    if (!looping) { playing = false; draw(); return; }
    seek(0);
    onReplay?.(moving());
    for (const video of moving()) video.play().catch(() => {});
  }
  /** Show one clip alone: the others stop where they are, and join again afterwards. */
  function alone(video) {
    const at = time();
    only = video;
    for (const other of videos()) if (video && other !== video) other.pause();
    if (!video) seek(at);
    if (playing) play();
  }
  /** The clips start together, and the clock with them, once all that can play do so without a stop. */
  function gathered() {
    if (videos().length && videos().every((one) => one.readyState >= 4)) begin();
  }
  function begin() {
    if (begun || !root.isConnected) return;
    begun = true;
    onReady();
    if (!calm && !count.plays) play(); // who has pressed Play, and perhaps Pause, has begun
  }

  for (const video of root.querySelectorAll(".tile video")) {
    video.controls = false;
    const tile = video.closest(".tile");
    const slow = () => tile.classList.toggle("is-slow", video.readyState < 3 && !video.error);
    for (const name of ["loadstart", "waiting", "stalled", "playing", "canplay", "seeked"]) video.addEventListener(name, slow);
    for (const name of ["canplaythrough", "error"]) video.addEventListener(name, () => setTimeout(gathered));
    video.addEventListener("ended", ended);
    video.addEventListener("seeked", draw);
    slow();
  }
  gathered();
  setTimeout(begin, GATHER);
  const holding = setInterval(hold, CHECK);
  const drawing = setInterval(draw, 100);

  find("play").addEventListener("click", () => (playing ? pause() : play()));
  find("back").addEventListener("click", () => step(-1));
  find("forward").addEventListener("click", () => step(1));
  find("loop").addEventListener("click", (event) => {
    looping = !looping;
    event.currentTarget.setAttribute("aria-pressed", String(looping));
  });
  find("speed").addEventListener("change", (event) => {
    count.speeds += 1;
    rate = Number(event.target.value);
    for (const video of videos()) video.playbackRate = rate;
  });
  scrub.addEventListener("change", () => { count.scrubs += 1; });
  scrub.addEventListener("pointerdown", () => { scrubbing = true; });
  addEventListener("pointerup", () => { scrubbing = false; });
  scrub.addEventListener("input", () => {
    const to = Number(scrub.value); // pausing draws it where the videos are
    if (playing) pause();
    seek(to);
  });
  draw();

  return {
    toggle: () => (playing ? pause() : play()),
    step, alone, begin,
    /** A clip that came back joins the others. */
    join(video) { video.playbackRate = rate; video.currentTime = time(); if (playing && (!only || only === video)) video.play().catch(() => {}); },
    plays: () => count.plays,
    counts: () => ({ ...count }),
    stop() { clearInterval(holding); clearInterval(drawing); },
    get playing() { return playing; },
  };
};
