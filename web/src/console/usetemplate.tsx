import { useState } from "preact/hooks";
import { ContactBox } from "../ui/ContactBox";
import { recipientsOf, type Client } from "./api";
import { FormDialog, recipientKind } from "./parts";
import type { Template } from "./template";
import { useWorkspace, WorkspaceField } from "./workspace";
import { t } from "./texts";

interface Person { name: string; email: string; phone: string; hostName: string; hostEmail: string }
const nobody: Person = { name: "", email: "", phone: "", hostName: "", hostEmail: "" };

/**
 * Creates an envelope from a template, with a person for each role. It then sends the envelope or opens the builder.
 */
export function UseTemplate({ client, template, onClose }: { client: Client; template: Template; onClose: () => void }) {
  const [people, setPeople] = useState<Record<string, Person>>({});
  const [variables, setVariables] = useState<Record<string, string>>({});
  const [tenantId, setTenant] = useWorkspace(template.tenantId ?? undefined);
  const personOf = (role: string): Person => people[role] ?? nobody;
  const set = (role: string, change: Partial<Person>) => setPeople((old) => ({ ...old, [role]: { ...(old[role] ?? nobody), ...change } }));
  const make = (send: boolean) => async (key: string) => {
    const signers = template.roles.map((r) => {
      const p = personOf(r.role);
      return {
        role: r.role, name: p.name, email: p.email, ...(p.phone && r.kind !== "copy" ? { phone: p.phone } : {}),
        ...(r.kind === "in_person" ? { host: { name: p.hostName, email: p.hostEmail } } : {}),
      };
    });
    const made = await client.call<{ id: string }>("/v1/envelopes", { body: { tenantId, templateId: template.id, templateVersion: template.version, signers, variables, send }, key });
    location.hash = send ? `#/envelopes/${made.id}` : `#/build/${made.id}`;
  };
  return (
    <FormDialog title={t("newEnvelopeFrom", { name: template.name })} label={t("send")} work={make(true)} other={{ label: t("continueInBuilder"), work: make(false) }} onClose={onClose}>
      {template.roles.map((r, i) => {
        const p = personOf(r.role);
        return (
          <fieldset key={r.role} class="person">
            <legend><bdi>{r.role}</bdi>{r.kind !== "signer" && <span class="quiet small"> ({recipientKind(r.kind)})</span>}{r.witnessFor && <span class="quiet small"> ({t("witnesses", { name: r.witnessFor })})</span>}</legend>
            <div class="pair">
              <ContactBox id={`pname${i}`} label={t("name")} listLabel={t("contacts")} first={i === 0} value={p.name} contacts={(search) => recipientsOf(client)(search, tenantId)} onInput={(name) => set(r.role, { name })}
                onTake={(c) => set(r.role, { name: c.name, email: c.email, phone: c.phone ?? "" })} />
              <div><label for={`pmail${i}`}>{t("email")}</label><input id={`pmail${i}`} type="email" required maxLength={254} autocomplete="off" value={p.email} onInput={(e) => set(r.role, { email: e.currentTarget.value })} /></div>
              {r.authMethod === "sms_otp" && r.kind !== "copy" && <div><label for={`pphone${i}`}>{t("phoneExample", { example: "+12025550123" })}</label><input id={`pphone${i}`} type="tel" required value={p.phone} onInput={(e) => set(r.role, { phone: e.currentTarget.value })} /></div>}
              {r.kind === "in_person" && (
                <><div><label for={`phost${i}`}>{t("hostName")}</label><input id={`phost${i}`} required maxLength={255} value={p.hostName} onInput={(e) => set(r.role, { hostName: e.currentTarget.value })} /></div>
                  <div><label for={`phostmail${i}`}>{t("hostEmail")}</label><input id={`phostmail${i}`} type="email" required maxLength={254} value={p.hostEmail} onInput={(e) => set(r.role, { hostEmail: e.currentTarget.value })} /></div></>
              )}
            </div>
          </fieldset>
        );
      })}
      {template.variables.map((v) => <div key={v}><label for={`var-${v}`}>{v}</label><input id={`var-${v}`} required maxLength={2000} value={variables[v] ?? ""} onInput={(e) => setVariables({ ...variables, [v]: e.currentTarget.value })} /></div>)}
      {template.tenantId === null && <WorkspaceField value={tenantId} onChange={setTenant} />}
    </FormDialog>
  );
}
