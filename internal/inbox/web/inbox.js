"use strict";
// The inbox page shows a list of messages that refreshes itself, and the selected message. The content of a message is
// inserted as text, except for its HTML, which the server provides and a sandboxed frame shows.
(() => {
  const REFRESH = 2000; // milliseconds
  const SHOWN = 500; // maximum number of requested messages
  const $ = (id) => document.getElementById(id);
  const state = { messages: [], seen: new Set(), known: false, open: null, view: null };

  const api = async (path, options) => {
    const res = await fetch(path, options);
    if (!res.ok) throw new Error(String(res.status));
    return res;
  };

  const make = (tag, className, text) => {
    const el = document.createElement(tag);
    if (className) el.className = className;
    if (text !== undefined) el.textContent = text;
    return el;
  };

  const when = (iso) => {
    const at = new Date(iso);
    return at.toDateString() === new Date().toDateString()
      ? at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })
      : at.toLocaleDateString([], { day: "numeric", month: "short" });
  };

  const size = (n) => (n < 1024 ? `${n} B` : n < 1 << 20 ? `${Math.round(n / 1024)} KB` : `${(n / (1 << 20)).toFixed(1)} MB`);
  const title = (m) => m.subject || (m.kind === "sms" ? "Text message" : "(no subject)");

  const matches = (m, words) => {
    const text = [m.subject, m.kind === "sms" ? m.text : "", m.from, m.fromName, ...m.to].join(" ").toLowerCase();
    return words.every((w) => text.includes(w));
  };

  function renderList() {
    const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = state.messages.filter((m) => matches(m, words));
    const list = $("messages");
    const focused = document.activeElement?.dataset?.id;
    list.replaceChildren(...found.map((m) => {
      const item = make("button", state.seen.has(m.id) ? "item" : "item new");
      item.type = "button";
      item.dataset.id = m.id;
      item.setAttribute("aria-current", String(m.id === state.open));
      const row = make("div", "row");
      const time = make("time", "when", when(m.date));
      time.dateTime = m.date;
      row.append(make("span", "who", m.to.join(", ")), time);
      const what = make("div", "what");
      if (m.kind === "sms") what.append(make("span", "tag", "SMS"));
      what.append(m.kind === "sms" ? m.text : title(m));
      item.append(row, what);
      item.addEventListener("click", () => { location.hash = m.id; });
      const li = make("li");
      li.append(item);
      return li;
    }));
    if (focused) list.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus();
    $("count").textContent = state.messages.length || "";
    $("clear").hidden = state.messages.length === 0;
    $("empty").hidden = found.length > 0;
    $("empty").textContent = state.messages.length ? "No message matches." : "No messages yet.";
  }

  async function refresh() {
    try {
      const found = await (await api(`/api/messages?summary=1&limit=${SHOWN}`)).json();
      const changed = found.length !== state.messages.length || found[0]?.id !== state.messages[0]?.id;
      if (!state.known) found.forEach((m) => state.seen.add(m.id)); // existing messages are not marked as new
      if (changed || !state.known) {
        state.messages = found;
        state.known = true;
        renderList();
      }
      $("offline").hidden = true;
    } catch {
      $("offline").hidden = false;
    }
    setTimeout(refresh, document.hidden ? REFRESH * 5 : REFRESH);
  }

  function linked(text, parent) {
    const pattern = /https?:\/\/[^\s<>"'`]+/g;
    let from = 0;
    for (const match of text.matchAll(pattern)) {
      const url = match[0].replace(/[.,;:!?)\]}]+$/, "");
      const a = make("a", "", url);
      a.href = url;
      a.target = "_blank";
      a.rel = "noopener noreferrer";
      parent.append(text.slice(from, match.index), a);
      from = match.index + url.length;
    }
    parent.append(text.slice(from));
    return parent;
  }

  async function showView(m, view) {
    state.view = view;
    for (const tab of $("tabs").children) {
      tab.hidden = (tab.dataset.view === "html" && !m.html) || (tab.dataset.view === "text" && !m.text);
      tab.setAttribute("aria-selected", String(tab.dataset.view === view));
      tab.onclick = () => showView(m, tab.dataset.view);
    }
    const panel = $("view");
    if (m.kind === "sms") {
      panel.replaceChildren(linked(m.text, make("div", "bubble")));
    } else if (view === "html") {
      const frame = make("iframe");
      frame.title = "HTML of the mail";
      frame.setAttribute("sandbox", "allow-popups allow-popups-to-escape-sandbox");
      frame.src = `/api/messages/${m.id}/html`;
      panel.replaceChildren(frame);
    } else if (view === "text") {
      panel.replaceChildren(linked(m.text, make("pre")));
    } else {
      const pre = make("pre", "", "Loading…");
      panel.replaceChildren(pre);
      try {
        const source = await (await api(`/api/messages/${m.id}/source`)).text();
        const limit = 512 * 1024;
        pre.textContent = source.length > limit ? source.slice(0, limit) + "\n[…]" : source;
        if (source.length > limit) {
          const all = make("a", "", "Open the whole source");
          all.href = `/api/messages/${m.id}/source`;
          all.target = "_blank";
          pre.append("\n\n", all);
        }
      } catch {
        pre.textContent = "The source cannot be read.";
      }
    }
  }

  function close() {
    state.open = null;
    $("app").classList.remove("reading");
    $("message").hidden = true;
    $("nothing").hidden = false;
    document.title = "Inbox · Countersign";
    renderList();
  }

  async function open() {
    const id = location.hash.slice(1);
    if (!id) return close();
    let m;
    try {
      m = await (await api(`/api/messages/${encodeURIComponent(id)}`)).json();
    } catch {
      history.replaceState(null, "", location.pathname);
      return close();
    }
    if (location.hash.slice(1) !== id) return; // another message has been selected
    state.open = id;
    state.seen.add(id);
    $("app").classList.add("reading");
    $("nothing").hidden = true;
    $("message").hidden = false;
    document.title = `${title(m)} · Inbox`;
    $("subject").textContent = title(m);
    $("from").textContent = m.fromName ? `${m.fromName} <${m.from}>` : m.from;
    $("to").textContent = m.to.join(", ");
    $("date").textContent = new Date(m.date).toLocaleString([], { dateStyle: "long", timeStyle: "medium" });
    $("date").dateTime = m.date;
    $("date").title = m.date;
    $("attachments").hidden = m.attachments.length === 0;
    $("attachments").replaceChildren(...m.attachments.map((a) => {
      const link = make("a", "", a.name);
      link.href = a.url;
      link.download = a.name;
      link.append(make("span", "", size(a.size)));
      const li = make("li");
      li.append(link);
      return li;
    }));
    $("tabs").hidden = m.kind === "sms";
    $("message").scrollTop = 0;
    renderList();
    showView(m, m.html ? "html" : m.text ? "text" : "source");
  }

  function step(by) {
    const ids = [...$("messages").querySelectorAll(".item")].map((el) => el.dataset.id);
    const next = ids[Math.max(0, Math.min(ids.length - 1, ids.indexOf(state.open) + by))];
    if (next) location.hash = next;
  }

  document.addEventListener("keydown", (e) => {
    if (e.target.matches("input") || e.metaKey || e.ctrlKey || e.altKey) return;
    if (e.key === "j") step(1);
    if (e.key === "k") step(-1);
    if (e.key === "Escape") location.hash = "";
  });
  $("filter").addEventListener("input", renderList);
  $("back").addEventListener("click", () => { location.hash = ""; });
  $("clear").addEventListener("click", async () => {
    if (!confirm("Delete all messages?")) return;
    try {
      await api("/api/messages", { method: "DELETE" });
      state.messages = [];
      location.hash = "";
      close();
    } catch {
      $("offline").hidden = false;
    }
  });
  addEventListener("hashchange", open);
  refresh().then(open);
})();
