// A plain signing page: identify, agree, fill, sign.
const token = location.pathname.split("/")[2];
const base = `/v1/signing/${token}`;
const $ = (id) => document.getElementById(id);
let context;

async function call(path, body) {
  const init = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const res = await fetch(base + path, init);
  const answer = res.status === 204 ? {} : await res.json();
  if (!res.ok) throw Object.assign(new Error(answer.message), { status: res.status, code: answer.error });
  return answer;
}

const say = (text) => { $("notice").textContent = text; };
const only = (...ids) => { for (const id of ["identify", "agree", "fill", "decline-box"]) $(id).hidden = !ids.includes(id); };

function end(title, text) {
  only();
  $("title").textContent = title;
  say(text);
}

async function attempt(work) {
  say("");
  try { await work(); } catch (e) { say(e.message); }
}

async function load() {
  try {
    context = await call("");
  } catch (e) {
    const title = e.status === 410 ? "You have already answered" : "This link does not work any more";
    return end(title, e.message);
  }
  document.title = context.subject ?? "Sign";
  $("title").textContent = context.subject ?? "Please sign";
  $("sender").textContent = `${context.senderName} asks ${context.signerName} to sign`;
  $("masked").textContent = context.authMethod === "sms_otp" ? context.maskedPhone : context.maskedEmail;
  $("consent-text").replaceChildren(...context.consent.text.split("\n\n").map((t) => Object.assign(document.createElement("p"), { textContent: t })));
  $("documents").replaceChildren(...context.documents.map((d) => {
    const li = document.createElement("li");
    li.append(Object.assign(document.createElement("a"), { href: `${base}/documents/${d.documentId}`, target: "_blank", textContent: `${d.name} (${d.pageCount} pages)` }));
    return li;
  }));
  $("fields").replaceChildren(...context.fields.filter((f) => !image(f)).map(input));
  $("signature-box").hidden = !context.fields.some(image);
  if (context.requiresOtpVerification && !context.otpVerified) only("identify", "decline-box");
  else if (!context.consentGiven) only("agree", "decline-box");
  else only("fill", "decline-box");
}

const image = (f) => f.type === "signature" || f.type === "initial";

function input(f) {
  const label = document.createElement("label");
  const box = Object.assign(document.createElement("input"), { name: f.id, required: f.required });
  if (f.type === "checkbox") {
    box.type = "checkbox";
    label.append(box, `Checkbox on page ${f.page}`);
    return label;
  }
  if (f.type === "date") {
    box.type = "date";
    box.value = new Date().toISOString().slice(0, 10);
  } else {
    box.maxLength = 2000;
  }
  label.append(`${f.type === "date" ? "Date" : "Text"} on page ${f.page}${f.required ? "" : " (optional)"}`, box);
  return label;
}

const pad = $("pad");
const pen = pad.getContext("2d");
let inked = false;

function at(e) {
  const r = pad.getBoundingClientRect();
  return [(e.clientX - r.left) * pad.width / r.width, (e.clientY - r.top) * pad.height / r.height];
}

function clear() {
  pen.clearRect(0, 0, pad.width, pad.height);
  inked = false;
}

pad.addEventListener("pointerdown", (e) => {
  pad.setPointerCapture(e.pointerId);
  Object.assign(pen, { lineWidth: 4, lineCap: "round", lineJoin: "round", strokeStyle: "#12306b" });
  pen.beginPath();
  pen.moveTo(...at(e));
});
pad.addEventListener("pointermove", (e) => {
  if (!e.buttons) return;
  pen.lineTo(...at(e));
  pen.stroke();
  inked = true;
});
$("clear").addEventListener("click", () => { clear(); $("typed").value = ""; });
$("typed").addEventListener("input", () => {
  clear();
  Object.assign(pen, { font: "italic 72px cursive", fillStyle: "#12306b", textBaseline: "middle" });
  pen.fillText($("typed").value, 20, pad.height / 2, pad.width - 40);
  inked = $("typed").value.trim() !== "";
});

$("request-code").addEventListener("click", () => attempt(async () => {
  await call("/otp/request", {});
  $("code-form").hidden = false;
  $("request-code").textContent = "Send another code";
  $("code").focus();
  say("The code is on its way.");
}));
$("code-form").addEventListener("submit", (e) => {
  e.preventDefault();
  attempt(async () => { await call("/otp/verify", { code: $("code").value }); await load(); });
});
$("give-consent").addEventListener("click", () => attempt(async () => { await call("/consent", {}); await load(); }));
$("decline-form").addEventListener("submit", (e) => {
  e.preventDefault();
  attempt(async () => {
    await call("/decline", { reason: $("reason").value || null });
    end("You have declined", "The sender has been told. There is nothing more to do.");
  });
});
$("sign-form").addEventListener("submit", (e) => {
  e.preventDefault();
  attempt(async () => {
    if (context.fields.some((f) => image(f) && f.required) && !inked) throw new Error("Please draw or type your signature.");
    const picture = inked ? pad.toDataURL("image/png").split(",")[1] : null;
    const fields = context.fields.map((f) => {
      if (image(f)) return { fieldId: f.id, signatureImageBase64: picture };
      const box = $("sign-form").elements[f.id];
      return { fieldId: f.id, textValue: f.type === "checkbox" ? String(box.checked) : box.value };
    });
    const done = await call("/sign", { fields, fontLabel: $("typed").value ? "cursive" : null });
    end("You have signed", `Signed on ${new Date(done.signedAt).toLocaleString()}. When everyone has signed you receive the sealed document by mail.`);
  });
});

await load();
