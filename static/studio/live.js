"use strict";
/* Keeps the page where the participant is: told by the websocket, asking every few seconds where there is none. */
(() => {
  const POLL = 5000, PROGRESS = 3, PATIENCE = 4000, OWN = 500, SOON = 30;
  const state = document.getElementById("state");
  const banner = document.getElementById("connection");
  let open = false, away = false, answers = 0, page = null, said = "", bannerTimer;
  let sending = false, told = false, sentAt = -Infinity;

  const live = () => document.getElementById("live");
  const refresh = () => { if (live() && navigator.onLine) htmx.trigger(live(), "refresh"); };
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  function tell(text, good) {
    clearTimeout(bannerTimer);
    banner.textContent = text;
    banner.classList.toggle("good", Boolean(good));
    banner.hidden = !text;
    if (good) bannerTimer = setTimeout(() => { banner.hidden = true; }, 4000);
  }
  function lost(text) { away = true; tell(text); }
  function back() {
    if (away) tell(gettext("Connected again. Nothing was lost."), true);
    away = false;
    refresh();
  }

  // --- being told ---
  state.addEventListener("htmx:wsOpen", () => { open = true; back(); });
  state.addEventListener("htmx:wsClose", () => { open = false; });
  state.addEventListener("htmx:wsBeforeMessage", (event) => { event.preventDefault(); hear(); });
  /** A page is told of its own vote, too. The answer to the vote shows it already, and asks when its countdown ends. */
  function hear() {
    const justVoted = performance.now() < sentAt + OWN && document.querySelector(".undo[data-seconds]")?.dataset.seconds <= SOON;
    if (sending) told = true;
    else if (!justVoted) refresh();
  }
  function hearLate() { if (told) { told = false; hear(); } }
  /** Whether the answer has come, the request itself knows: its form may be gone by then, and HTMX then tells nobody. */
  document.body.addEventListener("htmx:beforeRequest", (event) => {
    if (!event.target.matches("form")) return;
    sending = true;
    event.detail.xhr.addEventListener("loadend", () => {
      sending = false;
      sentAt = performance.now();
      setTimeout(hearLate, OWN / 10); // the new page is there by then
    });
  });
  addEventListener("offline", () => lost(gettext("You are offline. What you chose stays on this page; it goes on when you are back.")));
  addEventListener("online", back);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });

  // --- asking ---
  setInterval(() => { if (!open || away) refresh(); }, POLL);
  /** A page that waits asks for its progress; how often, the server says in seconds: the more pages, the less often. */
  function askOn() {
    setTimeout(() => {
      if (["waiting", "others"].includes(live()?.dataset.state) && !document.hidden) refresh();
      askOn();
    }, 1000 * (live()?.dataset.every || PROGRESS));
  }
  askOn();
  for (const name of ["htmx:sendError", "htmx:timeout"]) document.body.addEventListener(name, (event) => {
    if (name === "htmx:timeout" && event.target.id === "live") refresh(); // others may wait for this one
    if (event.target.id !== "live") lost(gettext("That did not reach us. Nothing is lost: please try again in a moment."));
    else if (!away) setTimeout(() => { if (!open) lost(gettext("No connection at the moment. We keep trying; nothing is lost.")); }, PATIENCE);
  });
  document.body.addEventListener("htmx:responseError", (event) => {
    if (event.target.id === "live") return refused();
    const answer = event.detail.xhr, number = answer.status === 500 && answer.getResponseHeader("X-Request-ID");
    const words = [gettext("Something went wrong on our side. Nothing is lost: please try again in a moment.")];
    if (number) words.push(gettext("If this happens again, please tell the people who run this site this number:"), number);
    lost(words.join(" "));
  });
  /** One refusal of the page's own question may pass unseen; a page that gets no answer for some seconds says so. */
  function refused() {
    const before = answers;
    setTimeout(() => {
      if (answers === before && !away) lost(gettext("A part of this site does not answer just now. We keep trying; nothing is lost."));
    }, PATIENCE);
  }
  document.body.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.successful) answers += 1;
    if (event.detail.successful && away) back();
    const every = event.target.id === "live" && event.detail.xhr.getResponseHeader("X-Ask-Again");
    if (every) event.target.dataset.every = every;
  });

  // --- a page gives way to another ---
  function arrived() {
    const now = live();
    if (!now) return;
    if (now.dataset.kind !== state.dataset.kind) return location.reload(); // videos gave way to texts or pairs, which have other scripts
    now.addEventListener("htmx:beforeOnLoad", ifStillThere);
    countDown();
    moving();
    offerNotice();
    if (page && now !== page) follow(now);
    page = now;
  }
  /** What is said, and where the focus is, follow the page. A person who goes on waiting is left alone; a lost focus is taken back. */
  function follow(now) {
    const same = now.dataset.state === page.dataset.state, again = now.getAttribute("hx-get") === page.getAttribute("hx-get");
    const lost = document.activeElement === document.body, refused = Boolean(state.querySelector(".note"));
    const goesOn = same && (again || now.dataset.state === "waiting");
    if (!goesOn) {
      document.getElementById("announce").textContent = same ? state.querySelector(".ask, h1")?.textContent.trim() : now.dataset.title;
      if (["review", "pairs", "thanks", "failed"].includes(now.dataset.state)) notice(now.dataset.title);
    }
    if (!goesOn || refused) scrollTo({ top: 0 });
    if (!goesOn || refused || lost) state.focus({ preventScroll: true });
  }
  function progressed() {
    const words = document.querySelector("[data-say]");
    if (!words || words.dataset.say === said) return;
    said = words.dataset.say;
    document.getElementById("announce").textContent = said;
  }
  // What was asked before this page came must not replace it.
  function ifStillThere(event) { if (!event.target.isConnected) event.preventDefault(); }
  state.addEventListener("htmx:afterSettle", () => { arrived(); progressed(); });

  // --- the time to change one's mind ---
  let ticking;
  function countDown() {
    clearInterval(ticking);
    const undo = document.querySelector(".undo[data-seconds]");
    if (!undo) return;
    const end = performance.now() + 1000 * Number(undo.dataset.seconds), all = Math.max(1, end - performance.now());
    const words = undo.querySelector("[data-countdown]"), bar = undo.querySelector("progress");
    ticking = setInterval(() => {
      const left = end - performance.now();
      if (words) words.textContent = Math.max(0, Math.ceil(left / 1000));
      if (bar) bar.value = Math.max(0, 100 * left / all);
      if (left < -250) { clearInterval(ticking); refresh(); }
    }, 200);
  }

  // --- early clips and the winner's move, unless the person likes it still ---
  let still = calm.matches;
  function moving() {
    const videos = [...document.querySelectorAll(".early video, .winner video")];
    for (const video of videos) still ? video.pause() : video.play().catch(() => {});
    const button = document.querySelector('[data-do="motion"]');
    if (!button) return;
    button.setAttribute("aria-pressed", String(still));
    button.querySelector("span").textContent = still ? gettext("Show motion") : gettext("Stop motion");
    const icon = button.querySelector("use");
    icon.setAttribute("href", icon.getAttribute("href").replace(/#.*/, still ? "#play" : "#pause"));
  }

  // --- telling a person who looks elsewhere ---
  function offerNotice() {
    const button = document.querySelector('[data-do="notify"]');
    if (!button || !("Notification" in window) || !isSecureContext) return;
    const text = document.querySelector("[data-notify-said]");
    button.hidden = Notification.permission !== "default";
    if (Notification.permission === "granted") text.textContent = gettext("We will tell you here in the browser, as long as this page stays open in some tab.");
    if (Notification.permission === "denied") text.textContent = gettext("This browser does not let us notify you. The name of this tab will change when it is your turn.");
  }
  function notice(title) {
    if (document.hidden && "Notification" in window && Notification.permission === "granted")
      new Notification(title, { body: gettext("The next round is ready."), tag: "prefine" }).onclick = () => focus();
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-do]");
    if (button?.dataset.do === "motion") { still = !still; moving(); }
    if (button?.dataset.do === "notify") { await Notification.requestPermission(); offerNotice(); }
  });
  arrived();
})();
