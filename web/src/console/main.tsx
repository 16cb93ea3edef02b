import { render } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import "../ui/base.css";
import "./console.css";
import { background, Client, errorText, hasRole, type Identity } from "./api";
import { Builder } from "../builder/Builder";
import { fieldTypes } from "../builder/model";
import { Application } from "./application";
import { BulkSendPage, BulkSends } from "./bulk";
import { Contacts } from "./contacts";
import { DeliveryPage } from "./delivery";
import { EnvelopePage } from "./envelope";
import { Envelopes } from "./envelopes";
import { Login } from "./login";
import { Account, MustEnrol } from "./ownaccount";
import { ErrorNotice } from "./parts";
import { AtProvider } from "./proof";
import { takeReturned } from "./provider";
import { useRoute } from "./route";
import { SettingsPage } from "./settings";
import { Usage } from "./usage";
import { Users } from "./users";
import { Webhooks } from "./webhooks";

const look = 60_000; // milliseconds between looks whether the session still holds

const sections = { envelopes: "Envelopes", bulk: "Bulk sends", webhooks: "Webhooks", contacts: "Contacts", usage: "Usage", settings: "Settings" } as const;
const administration = { users: "Users", application: "Application" } as const;

// Before anything reads the address.
const returned = takeReturned();

function Console() {
  const [who, setWho] = useState<Identity | null>(null);
  const { section, id } = useRoute();
  const [asked, setAsked] = useState(false);
  const [ended, setEnded] = useState(false);
  const [told, setTold] = useState(""); // why a sign-in at the provider failed
  const client = useMemo(() => new Client((ended) => { setWho(null); setEnded(ended); }), []);
  useEffect(() => {
    if (returned && "error" in returned) setTold(returned.error);
    else if (returned) {
      void client.complete(returned).then((w) => { setWho(w); setEnded(false); }, async (e: unknown) => {
        setTold(errorText(e));
        if (client.token) await client.call<Identity>("me").then(setWho, () => undefined);
      }).finally(() => setAsked(true));
      return;
    }
    if (!client.token) setAsked(true);
    else void client.call<Identity>("me").then(setWho, () => undefined).finally(() => setAsked(true));
  }, []);
  useEffect(() => {
    if (!who) return;
    const timer = setInterval(() => void client.call("me", background()).catch(() => undefined), look);
    return () => clearInterval(timer);
  }, [who]);
  if (!asked) return null;
  if (!who) return <Login client={client} ended={ended} told={told} onIn={(w) => { setTold(""); setWho(w); }} />;
  if (who.mustEnrol) return <MustEnrol client={client} email={who.user?.email ?? ""} onDone={() => setWho({ ...who, mustEnrol: false })} />;
  if (section === "build" && id && hasRole(who, "sender")) {
    const back = () => { location.hash = `#/envelopes/${id}`; };
    return <Builder key={id} envelopeId={id} bearer={client.token ?? ""} features={{ recipients: true, documents: true, send: true, fieldTypes }} onClose={back} onEvent={(event) => { if (event === "sent") back(); }} />;
  }
  const current = section === "deliveries" ? "webhooks" : section;
  return (
    <AtProvider.Provider value={who.signIn === "provider"}><div class="console">
      <header class="masthead">
        <strong>Countersign</strong>
        <nav aria-label="Sections">{Object.entries(hasRole(who, "admin") ? { ...sections, ...administration } : sections).map(([key, name]) => <a key={key} href={`#/${key}`} aria-current={key === current ? "page" : undefined}>{name}</a>)}</nav>
        <span class="quiet small"><bdi>{who.app.name}</bdi>{who.user && <> · <a href="#/account" aria-current={current === "account" ? "page" : undefined}><bdi>{who.user.name}</bdi></a>, {who.user.role}</>}</span>
        <button type="button" class="bare small" onClick={() => client.logout()}>Sign out</button>
      </header>
      <main key={`${section}/${id}`}>
        <ErrorNotice text={told} />
        {section === "envelopes" && !id && <Envelopes client={client} who={who} />}
        {section === "envelopes" && id && <EnvelopePage client={client} who={who} id={id} />}
        {section === "bulk" && !id && <BulkSends client={client} />}
        {section === "bulk" && id && <BulkSendPage client={client} who={who} id={id} />}
        {section === "webhooks" && <Webhooks client={client} who={who} />}
        {section === "deliveries" && id && <DeliveryPage client={client} who={who} id={id} />}
        {section === "contacts" && <Contacts client={client} who={who} />}
        {section === "usage" && <Usage client={client} />}
        {section === "account" && who.user && <Account client={client} email={who.user.email} />}
        {section === "users" && hasRole(who, "admin") && <Users client={client} who={who} />}
        {section === "application" && hasRole(who, "admin") && <Application client={client} who={who} />}
        {section === "settings" && <SettingsPage client={client} who={who} />}
      </main>
    </div></AtProvider.Provider>
  );
}

render(<Console />, document.getElementById("app")!);
