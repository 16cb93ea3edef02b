import { useState } from "preact/hooks";
import { Title } from "../ui/parts";
import { useList, useLoad, formatTime, type Client, type Identity } from "./api";
import { useSecondFactors } from "./factors";
import { ActionButton, SecretNotice, ErrorNotice, Table } from "./parts";
import { Prove, type Proof } from "./proof";
import { usePageTitle } from "./route";

interface App { id: string; name: string; plan: string; tenants: string[]; contact: string; createdAt: string }
interface Secret { id: string; createdAt: string; expiresAt: string | null }

export function Application({ client, who }: { client: Client; who: Identity }) {
  usePageTitle("Application");
  const { data, problem, reload } = useLoad<App>(client, "app");
  const [changed, setChanged] = useState<Partial<Pick<App, "name" | "contact">>>({});
  const app = data && { ...data, ...changed };
  return (
    <>
      <Title>Application</Title>
      <ErrorNotice text={problem} />
      {app && (
        <section class="card stack">
          <dl class="facts">
            <dt>Plan</dt><dd>{app.plan}</dd>
            <dt>Workspaces</dt><dd>{app.tenants.join(", ") || "all"}</dd>
            <dt>Since</dt><dd>{formatTime(app.createdAt)}</dd>
          </dl>
          <p class="quiet small">Only the operator can change the plan and tenants.</p>
          <div><label for="appname">Name shown to signers</label><input id="appname" required maxLength={255} value={app.name} onInput={(e) => setChanged({ ...changed, name: e.currentTarget.value })} /></div>
          <div><label for="contact">Email address for alerts about disabled endpoints (optional)</label><input id="contact" type="email" maxLength={254} value={app.contact} onInput={(e) => setChanged({ ...changed, contact: e.currentTarget.value })} /></div>
          <ActionButton label="Save" tone="" done="Saved." work={async () => { await client.call("app", { method: "PATCH", body: changed }); setChanged({}); reload(); }} />
        </section>
      )}
      {who.user && <Secrets client={client} email={who.user.email} />}
    </>
  );
}

function Secrets({ client, email }: { client: Client; email: string }) {
  const { data, problem, reload } = useList<Secret>(client, "client-secrets");
  const { factors } = useSecondFactors(client);
  const [asking, setAsking] = useState<"new" | Secret | null>(null);
  const [hours, setHours] = useState("168");
  const [fresh, setFresh] = useState("");
  const make = async (p: Proof) => {
    setFresh((await client.call<{ clientSecret: string }>("client-secrets", { body: { ...p, overlapHours: Number(hours) } })).clientSecret);
    reload();
  };
  const end = async (p: Proof) => {
    if (asking && asking !== "new") await client.call(`client-secrets/${asking.id}/end`, { body: p });
    reload();
  };
  const close = () => setAsking(null);
  return (
    <>
      <h2 class="later">Client secrets</h2>
      <p class="quiet small">The application uses a client secret to get access tokens. It also signs webhooks that have no secret of their own.</p>
      <ErrorNotice text={problem} />
      {fresh && <SecretNotice label="The new client secret." secret={fresh} onKept={() => setFresh("")} />}
      {data && (
        <Table label="Client secrets" head={["Made", "Good until", "End"]}>
          {data.map((s, i) => (
            <tr key={s.id}>
              <td>{formatTime(s.createdAt)}{i === 0 && <> <span class="badge good">newest</span></>}</td>
              <td>{s.expiresAt ? formatTime(s.expiresAt) : "it is replaced"}</td>
              <td>{i === 0 ? "–" : <button type="button" class="plain small" onClick={() => setAsking(s)}>End it now</button>}</td>
            </tr>
          ))}
        </Table>
      )}
      <p><button type="button" class="small" onClick={() => setAsking("new")}>Create new secret</button></p>
      {asking === "new" && (
        <Prove email={email} title="Create a new client secret?" text="Enter your password first. Anyone with the secret can act as the application." label="Create secret" factors={factors} work={make} onClose={close}>
          <div><label for="soverlap">Earlier secrets expire after (hours, 0 to 720)</label><input id="soverlap" type="number" min={0} max={720} required value={hours} onInput={(e) => setHours(e.currentTarget.value)} /></div>
        </Prove>
      )}
      {asking && asking !== "new" && (
        <Prove email={email} title="Revoke this secret now?" text="Requests that still use it are rejected immediately." label="Revoke secret" factors={factors} work={end} onClose={close} />
      )}
    </>
  );
}
