import { useState } from "preact/hooks";
import { Title } from "../ui/parts";
import { useList, useLoad, formatTime, type Client, type Identity } from "./api";
import { useSecondFactors } from "./factors";
import { ActionButton, SecretNotice, ErrorNotice, Table } from "./parts";
import { Prove, type Proof } from "./proof";
import { usePageTitle } from "./route";
import { listed, t } from "./texts";

interface App { id: string; name: string; plan: string; tenants: string[]; contact: string; createdAt: string }
interface Secret { id: string; createdAt: string; expiresAt: string | null }

export function Application({ client, who }: { client: Client; who: Identity }) {
  usePageTitle(t("application"));
  const { data, problem, reload } = useLoad<App>(client, "app");
  const [changed, setChanged] = useState<Partial<Pick<App, "name" | "contact">>>({});
  const app = data && { ...data, ...changed };
  return (
    <>
      <Title>{t("application")}</Title>
      <ErrorNotice text={problem} />
      {app && (
        <section class="card stack">
          <dl class="facts">
            <dt>{t("plan")}</dt><dd>{app.plan}</dd>
            <dt>{t("workspaces")}</dt><dd>{listed(app.tenants) || t("all")}</dd>
            <dt>{t("since")}</dt><dd>{formatTime(app.createdAt)}</dd>
          </dl>
          <p class="quiet small">{t("operatorOnly")}</p>
          <div><label for="appname">{t("nameForSigners")}</label><input id="appname" required maxLength={255} value={app.name} onInput={(e) => setChanged({ ...changed, name: e.currentTarget.value })} /></div>
          <div><label for="contact">{t("contactForAlerts")}</label><input id="contact" type="email" maxLength={254} value={app.contact} onInput={(e) => setChanged({ ...changed, contact: e.currentTarget.value })} /></div>
          <ActionButton label={t("save")} tone="" done={t("saved")} work={async () => { await client.call("app", { method: "PATCH", body: changed }); setChanged({}); reload(); }} />
        </section>
      )}
      {who.user && <Secrets client={client} email={who.user.email} shown={Boolean(app ?? problem)} />}
    </>
  );
}

function Secrets({ client, email, shown }: { client: Client; email: string; /** Whether the part of the page above the secrets is complete, so that they do not move. */ shown: boolean }) {
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
  if (!shown || !(data ?? problem)) return null;
  return (
    <>
      <h2 class="later">{t("clientSecrets")}</h2>
      <p class="quiet small">{t("clientSecretsText")}</p>
      <ErrorNotice text={problem} />
      {fresh && <SecretNotice label={t("newClientSecret")} secret={fresh} onKept={() => setFresh("")} />}
      {data && (
        <Table label={t("clientSecrets")} head={[t("createdAt"), t("expires"), t("revoke")]}>
          {data.map((s, i) => (
            <tr key={s.id}>
              <td>{formatTime(s.createdAt)}{i === 0 && <> <span class="badge good">{t("newest")}</span></>}</td>
              <td>{s.expiresAt ? formatTime(s.expiresAt) : t("whenReplaced")}</td>
              <td>{i === 0 ? "–" : <button type="button" class="plain small" onClick={() => setAsking(s)}>{t("revokeNow")}</button>}</td>
            </tr>
          ))}
        </Table>
      )}
      <p><button type="button" class="small" onClick={() => setAsking("new")}>{t("createNewSecret")}</button></p>
      {asking === "new" && (
        <Prove email={email} title={t("newClientSecretQuestion")} text={t("newClientSecretText")} label={t("createSecret")} factors={factors} work={make} onClose={close}>
          <div><label for="soverlap">{t("earlierSecretsHours")}</label><input id="soverlap" type="number" min={0} max={720} required value={hours} onInput={(e) => setHours(e.currentTarget.value)} /></div>
        </Prove>
      )}
      {asking && asking !== "new" && (
        <Prove email={email} title={t("revokeQuestion")} text={t("revokeText")} label={t("revokeSecret")} factors={factors} work={end} onClose={close} />
      )}
    </>
  );
}
