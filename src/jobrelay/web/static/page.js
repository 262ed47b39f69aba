// Keeps a page current. The server renders everything; when its event stream says that something has changed, the same
// page is read again and the parts marked data-live are replaced. Logs are appended as text. Nothing here makes markup.
"use strict";

const PAUSE = 1500;        // milliseconds between two refreshes
const MOST_TEXT = 2e6;     // characters of a log that are kept
const log = document.getElementById("log");
const link = document.getElementById("link");
const read = new WeakMap();  // what each part was made of
let source = null, refreshing = false, again = false, spoken = "", kept = 0;

function duration(seconds) {
  const s = Math.max(0, Math.floor(seconds)), m = Math.floor(s / 60), h = Math.floor(m / 60), d = Math.floor(h / 24);
  if (s < 120) return `${s}s`;
  if (m < 10) return s % 60 ? `${m}m${s % 60}s` : `${m}m`;
  if (h < 3) return `${m}m`;
  if (h < 8) return m % 60 ? `${h}h${m % 60}m` : `${h}h`;
  if (h < 48) return `${h}h`;
  return d < 8 && h % 24 ? `${d}d${h % 24}h` : `${d}d`;
}

function updateAges() {
  for (const each of document.querySelectorAll("time[data-age]")) {
    const at = Date.parse(each.dateTime);
    if (!Number.isNaN(at)) each.textContent = duration((Date.now() - at) / 1000);
  }
}

function announce() {
  const said = document.querySelector("[data-announce]");
  const text = said ? said.textContent.replace(/\s+/g, " ").trim() : "";
  if (spoken && text !== spoken) document.getElementById("announce").textContent = text;
  spoken = text;
}

function replaceParts(fresh) {
  for (const old of document.querySelectorAll("[data-live][id]")) {
    const made = fresh.getElementById(old.id);
    if (!made || made.innerHTML === read.get(old)) continue;
    read.set(old, made.innerHTML);
    const focused = old.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    old.replaceChildren(...Array.from(made.childNodes, node => document.importNode(node, true)));
    if (focused !== null) {
      const same = Array.from(old.querySelectorAll("a[href]")).find(each => each.getAttribute("href") === focused);
      if (same) same.focus({ preventScroll: true });
    }
  }
}

async function refresh() {
  if (refreshing) { again = true; return; }
  refreshing = true;
  try {
    const answer = await fetch(location.href, { credentials: "same-origin", headers: { Accept: "text/html" } });
    if (answer.ok) {
      replaceParts(new DOMParser().parseFromString(await answer.text(), "text/html"));
      announce();
      updateAges();
    }
  } catch { /* the stream tells when the server is back */ }
  await new Promise(done => setTimeout(done, PAUSE));
  refreshing = false;
  if (again) { again = false; refresh(); }
}

function state(word, text) {
  link.dataset.state = word;
  link.textContent = text;
}

function appendLog(text) {
  const follow = document.getElementById("follow").checked;
  log.append(document.createTextNode(text));
  kept += text.length;
  while (kept > MOST_TEXT && log.childNodes.length > 1) {
    kept -= log.firstChild.length;
    log.firstChild.remove();
  }
  if (follow) log.scrollTop = log.scrollHeight;
}

function connect() {
  const url = new URL(document.body.dataset.stream, location.href);
  if (log) url.searchParams.set("log", log.dataset.log);
  source = new EventSource(url);
  source.onopen = () => {
    state("on", "Live");
    if (log) document.getElementById("log-state").textContent = "";
  };
  source.onerror = () => state("off", "Not live");
  source.addEventListener("changed", event => {
    const known = document.body.dataset.version;
    document.body.dataset.version = "";
    if (!known || known !== JSON.parse(event.data)) refresh();
  });
  if (!log) return;
  const note = document.getElementById("log-state");
  source.addEventListener("begins", () => { log.replaceChildren(); kept = 0; });
  source.addEventListener("log", event => { note.textContent = ""; appendLog(JSON.parse(event.data)); });
  source.addEventListener("waits", event => { note.textContent = JSON.parse(event.data); });
  source.addEventListener("ended", () => { note.textContent = "The workload has ended."; });
}

function disconnect() {
  if (source) source.close();
  source = null;
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) { disconnect(); state("off", "Paused"); }
  else if (!source) { connect(); refresh(); }
});

document.addEventListener("keydown", event => {
  const typing = event.target.closest("input, select, textarea, [contenteditable]");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const search = document.getElementById("search");
  event.preventDefault();
  if (search) { search.focus(); search.select(); }
  else document.querySelector('nav a[href*="/workloads"]').click();
});

for (const each of document.querySelectorAll(".filters select")) each.addEventListener("change", () => each.form.requestSubmit());
for (const each of document.querySelectorAll("[data-live][id]")) read.set(each, each.innerHTML);
announce();
setInterval(updateAges, 5000);
if (document.body.dataset.stream) connect();
