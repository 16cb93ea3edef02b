const token = location.pathname.split("/")[2];
const show = (id, text) => { document.getElementById(id).textContent = text; };

const res = await fetch(`/v1/download/${token}`);
const body = await res.json();
if (res.ok) {
  show("title", body.name);
  show("notice", `Sealed PDF, ${(body.size / 1e6).toFixed(1)} MB. This link works until ${new Date(body.expiresAt).toLocaleDateString()}.`);
  const link = document.getElementById("get");
  link.href = `/v1/download/${token}/document`;
  link.hidden = false;
} else {
  show("title", res.status === 410 ? "This document was deleted" : "This link does not work");
  show("notice", body.message);
}
