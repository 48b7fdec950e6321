// Keeps an experiment's page up to date: a websocket says that something happened, htmx fetches the sections that
// changed. While work is running, and whenever the socket is away, the page also looks by itself.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const live = document.getElementById("live");
  const BUSY = 1500, AWAY = 5000, IDLE = 30000, LEAST = 700;
  let socket = null, retries = 0, last = 0, timer = 0, asking = false, again = false;
  let after = Number(live.dataset.after);

  const refresh = () => {
    if (asking) { again = true; return; }
    clearTimeout(timer);
    const wait = Math.max(0, last + LEAST - Date.now());
    timer = setTimeout(() => { last = Date.now(); htmx.trigger(live, "refresh"); }, wait);
  };
  const schedule = () => {
    clearTimeout(timer);
    if (document.hidden) return;
    const head = document.querySelector(".head");
    const open = socket && socket.readyState === WebSocket.OPEN;
    const pause = head.dataset.busy ? BUSY : open ? IDLE : AWAY;
    timer = setTimeout(refresh, pause);
  };
  const say = (state) => {
    live.dataset.state = state;
    show();
  };
  const show = () => {
    const sign = document.querySelector("[data-connection]");
    if (!sign) return;
    sign.hidden = !document.querySelector(".head").dataset.live;
    sign.dataset.connection = live.dataset.state;
    sign.textContent = live.dataset.state === "on" ? "Live" : "Reconnecting; looked up every 5 s meanwhile";
  };
  const connect = () => {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    socket = new WebSocket(`${scheme}//${location.host}${live.dataset.socket}?after=${after}`);
    socket.onopen = () => { retries = 0; say("on"); schedule(); };
    socket.onmessage = (event) => {
      const message = JSON.parse(event.data);
      if (message.id) after = Math.max(after, message.id);
      if (message.type !== "pong") refresh();
    };
    socket.onclose = () => {
      say("off");
      schedule();
      setTimeout(connect, Math.min(15000, 1000 * 2 ** retries++));
    };
  };

  document.addEventListener("htmx:configRequest", (event) => {
    if (event.detail.elt !== live) return;
    const have = [...document.querySelectorAll("[data-version]")].map((part) => `${part.id}.${part.dataset.version}`);
    for (const version of have) event.detail.formData.append("have", version);
  });
  document.addEventListener("htmx:beforeRequest", (event) => { if (event.detail.elt === live) asking = true; });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.elt !== live) return;
    asking = false;
    show();
    if (again) { again = false; refresh(); } else schedule();
  });

  // A swap would lose where the log was scrolled to.
  let scroll = 0;
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const log = event.detail.target.querySelector(".log");
    if (log) scroll = log.scrollTop;
  });
  document.addEventListener("htmx:oobAfterSwap", (event) => {
    const log = document.getElementById(event.detail.target.id)?.querySelector(".log");
    if (!log) return;
    log.scrollTop = scroll;
    offer([...log.querySelectorAll(".kind")].map((kind) => [kind.dataset.kind, kind.textContent]));
  });

  const filter = document.getElementById("log-filter");
  const offer = (kinds) => {
    const known = new Set([...filter.kind.options].map((option) => option.value));
    for (const [kind, name] of new Map(kinds)) if (!known.has(kind)) filter.kind.add(new Option(name, kind));
  };
  filter.addEventListener("input", refresh);
  filter.addEventListener("submit", (event) => { event.preventDefault(); refresh(); });
  document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : refresh()));
  connect();
  schedule();
});
