"use strict";
/* The "tell me" part of the waiting page: web push where the browser has it, else only while the page stays open. */
(() => {
  const box = () => document.querySelector("[data-tell-push]");
  const able = () => isSecureContext && "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;
  const token = () => JSON.parse(document.body.getAttribute("hx-headers") || "{}")["X-CSRFToken"] || document.cookie.match(/csrftoken=([^;]+)/)?.[1]
    || document.querySelector("[name=csrfmiddlewaretoken]")?.value || "";

  function bytes(text) {
    const raw = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
    return Uint8Array.from(raw, (letter) => letter.charCodeAt(0));
  }
  function say(text) { const words = box()?.querySelector("[data-tell-said]"); if (words) words.textContent = text; }
  function show(on) {
    const here = box();
    if (!here) return;
    here.hidden = false;
    here.querySelector('[data-tell="on"]').hidden = on;
    here.querySelector('[data-tell="off"]').hidden = !on;
  }
  function post(address, body) {
    return fetch(address, { method: "POST", headers: { "X-CSRFToken": token(), "Content-Type": "application/json" }, body: JSON.stringify(body) });
  }

  async function on() {
    say("");
    if (await Notification.requestPermission() !== "granted") {
      say(gettext("This browser does not let us notify you. You can allow it in the browser's settings for this page."));
      return;
    }
    try {
      const worker = await navigator.serviceWorker.register("/sw.js", { scope: box().dataset.tellScope });
      await ready(worker);
      const subscription = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(box().dataset.tellKey) });
      const answer = await post(box().dataset.tellPush, subscription.toJSON());
      if (!answer.ok) throw new Error(String(answer.status));
      show(true);
      say(gettext("We will tell you in this browser when it is your turn, also when this page is closed."));
    } catch {
      show(false);
      say(gettext("This browser's push service did not answer. We will tell you here as long as this page stays open in some tab."));
    }
  }
  async function off() {
    const subscription = await current();
    if (subscription) {
      await post(box().dataset.tellStop, { endpoint: subscription.endpoint });
      await subscription.unsubscribe();
    }
    show(false);
    say(gettext("We will not tell you in this browser any more."));
  }
  async function current() {
    const worker = await navigator.serviceWorker.getRegistration(box().dataset.tellScope);
    return worker ? worker.pushManager.getSubscription() : null;
  }
  function ready(worker) {
    const rising = worker.installing || worker.waiting;
    if (!rising) return null;
    return new Promise((done) => rising.addEventListener("statechange", () => { if (rising.state === "activated") done(); }));
  }
  async function arrived() {
    for (const field of document.querySelectorAll("[data-timezone]")) field.value = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
    if (!box() || box().dataset.seen || !able()) return;
    box().dataset.seen = "yes";
    show(Boolean(await current()));
    if (Notification.permission === "denied") say(gettext("This browser does not let us notify you. You can allow it in the browser's settings for this page."));
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-tell]");
    if (button?.dataset.tell === "on") on();
    if (button?.dataset.tell === "off") off();
  });
  document.addEventListener("htmx:afterSettle", arrived);
  arrived();
})();
