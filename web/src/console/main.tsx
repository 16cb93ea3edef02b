import { render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError } from "../ui/http";
import { preferredLanguage, rememberLanguage, setDocumentLanguage, type Language } from "../ui/i18n";
import { LanguageChoice, Loading } from "../ui/parts";
import "../ui/base.css";
import "./console.css";
import { keepFor } from "../builder/kept";
import { background, Client, contactsOf, errorText, hasRole, type Envelope, type Identity } from "./api";
import { Application } from "./application";
import { BulkSendPage, BulkSends } from "./bulk";
import { Contacts } from "./contacts";
import { DeliveryPage } from "./delivery";
import { EnvelopePage } from "./envelope";
import { Envelopes } from "./envelopes";
import { Login, type SignInProblem } from "./login";
import { NewBulkSend } from "./newbulk";
import { Account, MustEnrol } from "./ownaccount";
import { ErrorNotice, nameOf } from "./parts";
import { Problems } from "./problems";
import { AtProvider } from "./proof";
import { providerProblem, takeReturned } from "./provider";
import { useRoute } from "./route";
import { SettingsPage } from "./settings";
import { TemplatePage, Templates } from "./templates";
import { TemporalNotice } from "./temporal";
import { language, loadTexts, t, type TextKey } from "./texts";
import { Usage } from "./usage";
import { Users } from "./users";
import { Webhooks } from "./webhooks";
import { WorkspaceChoice, WorkspaceProvider } from "./workspace";

const look = 60_000; // interval between checks of the session, in milliseconds

const sections: Record<string, TextKey> = { envelopes: "envelopes", templates: "templates", bulk: "bulkSends", webhooks: "webhooks", contacts: "contacts", usage: "usage", settings: "settings" };
const help: Record<string, TextKey> = { problems: "problems" }; // for users with the support role
const administration: Record<string, TextKey> = { users: "users", application: "application" };

const noProblem: SignInProblem = { text: "", account: false };

// This must run before any other code reads the address.
const returned = takeReturned();

/** Loads a language, and applies it to the document. */
async function speak(wanted: Language): Promise<void> {
  setDocumentLanguage(await loadTexts(wanted));
}

function Console() {
  const [, setSpoken] = useState(language()); // a change renders all texts again
  const choose = (wanted: Language) => {
    rememberLanguage(wanted);
    void speak(wanted).then(() => setSpoken(language()));
  };
  const switcher = <LanguageChoice speech={{ language: language(), t }} onChoose={choose} />;
  const [who, setWho] = useState<Identity | null>(null);
  const { section, id } = useRoute();
  const [asked, setAsked] = useState(false);
  const [ended, setEnded] = useState(false);
  const [told, setTold] = useState<SignInProblem>(noProblem);
  const enter = (w: Identity) => {
    keepFor(w.user?.id ?? w.app.id);
    setWho(w);
  };
  const client = useMemo(() => new Client((ended) => { setWho(null); setEnded(ended); }), []);
  useEffect(() => {
    if (returned && "error" in returned) setTold({ text: providerProblem(returned.error), account: false });
    else if (returned) {
      void client.complete(returned).then((w) => { enter(w); setEnded(false); }, async (e: unknown) => {
        setTold({ text: errorText(e), account: e instanceof ApiError && [403, 409].includes(e.status) });
        if (client.token) await client.call<Identity>("me").then(enter, () => undefined);
      }).finally(() => setAsked(true));
      return;
    }
    if (!client.token) setAsked(true);
    else void client.call<Identity>("me").then(enter, () => undefined).finally(() => setAsked(true));
  }, []);
  useEffect(() => {
    if (!who) return;
    const timer = setInterval(() => void client.call("me", background()).catch(() => undefined), look);
    return () => clearInterval(timer);
  }, [who]);
  const sectionsRef = useRef<HTMLElement>(null);
  // On a phone the sections are in one row, which is scrolled to the current section.
  useEffect(() => { sectionsRef.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }); }, [section, who]);
  if (!asked) return null;
  if (!who) return <Login client={client} ended={ended} told={told} onIn={(w) => { setTold(noProblem); enter(w); }} foot={switcher} />;
  if (who.mustEnrol) return <MustEnrol client={client} email={who.user?.email ?? ""} onDone={() => setWho({ ...who, mustEnrol: false })} />;
  if ((section === "build" || section === "edit") && id && hasRole(who, "sender")) return <Workshop key={id} client={client} who={who} section={section} id={id} />;
  const current = section === "deliveries" ? "webhooks" : section;
  return (
    <AtProvider.Provider value={who.signIn === "provider"}><WorkspaceProvider key={who.app.id} client={client} who={who}><div class="console">
      <header class="masthead">
        <strong>Countersign</strong>
        <nav ref={sectionsRef} aria-label={t("sections")}>{Object.entries({ ...sections, ...(hasRole(who, "support") ? help : {}), ...(hasRole(who, "admin") ? administration : {}) }).map(([key, name]) => <a key={key} href={`#/${key}`} aria-current={key === current ? "page" : undefined}>{t(name)}</a>)}</nav>
        <WorkspaceChoice who={who} />
        <span class="quiet small"><span class="ofapp"><bdi>{who.app.name}</bdi>{who.user && " · "}</span>{who.user && <><a href="#/account" aria-current={current === "account" ? "page" : undefined}><bdi>{who.user.name}</bdi></a> · {nameOf(who.user.role)}</>}</span>
        {switcher}
        <button type="button" class="bare small" onClick={() => client.logout()}>{t("signOut")}</button>
      </header>
      <TemporalNotice />
      <main key={`${section}/${id}`}>
        <ErrorNotice text={told.text} />
        {section === "envelopes" && !id && <Envelopes client={client} who={who} />}
        {section === "envelopes" && id && <EnvelopePage client={client} who={who} id={id} />}
        {section === "templates" && !id && <Templates client={client} who={who} />}
        {section === "templates" && id && <TemplatePage client={client} who={who} id={id} />}
        {section === "bulk" && !id && <BulkSends client={client} who={who} />}
        {section === "bulk" && id === "new" && hasRole(who, "sender") && <NewBulkSend client={client} who={who} />}
        {section === "bulk" && id && id !== "new" && <BulkSendPage client={client} who={who} id={id} />}
        {section === "webhooks" && <Webhooks client={client} who={who} />}
        {section === "deliveries" && id && <DeliveryPage client={client} who={who} id={id} />}
        {section === "problems" && hasRole(who, "support") && <Problems client={client} />}
        {section === "contacts" && <Contacts client={client} who={who} />}
        {section === "usage" && <Usage client={client} />}
        {section === "account" && who.user && <Account client={client} email={who.user.email} />}
        {section === "users" && hasRole(who, "admin") && <Users client={client} who={who} />}
        {section === "application" && hasRole(who, "admin") && <Application client={client} who={who} />}
        {section === "settings" && <SettingsPage client={client} who={who} />}
      </main>
    </div></WorkspaceProvider></AtProvider.Provider>
  );
}

type BuilderModules = [typeof import("../builder/Builder"), typeof import("../builder/model"), typeof import("../builder/texts")];

/**
 * The builder for a draft or a template in the console, in the console's language. Its script is loaded on demand.
 */
function Workshop({ client, who, section, id }: { client: Client; who: Identity; section: "build" | "edit"; id: string }) {
  const [modules, setModules] = useState<BuilderModules | null>(null);
  const [problem, setProblem] = useState(false);
  useEffect(() => {
    let gone = false;
    Promise.all([import("../builder/Builder"), import("../builder/model"), import("../builder/texts")]).then(async (loaded) => {
      await loaded[2].loadTexts(language());
      if (!gone) setModules(loaded);
    }).catch(() => setProblem(true));
    return () => { gone = true; };
  }, []);
  const contacts = useMemo(() => contactsOf(client), [client]);
  const back = () => { location.hash = section === "edit" ? `#/templates/${id}` : `#/envelopes/${id}`; };
  /** Saves the recipients as contacts. If the sender signs first, the signing page follows. */
  const sent = async () => {
    try {
      const e = await client.call<Envelope>(`envelopes/${id}`);
      const people = [...e.signers, ...(e.copies ?? [])].filter((p) => p.email !== who.user?.email).slice(0, 20);
      void Promise.allSettled(people.map((p) => client.call("contacts", { body: { name: p.name, email: p.email } })));
      const me = e.signers.find((s) => s.email === who.user?.email && s.status === "sent");
      if (me) {
        const { signingUrl } = await client.call<{ signingUrl: string }>(`/v1/envelopes/${id}/signers/${me.id}/signing-link`, { method: "POST", body: {}, key: `${id}-${me.id}` });
        location.assign(signingUrl);
        return;
      }
    } catch {
      // The envelope has been sent regardless of this error, and its page shows its state.
    }
    back();
  };
  if (problem) return <main class="narrow"><ErrorNotice text={t("builderNotLoaded")} /></main>;
  if (!modules) return <Loading text={t("loading")} />;
  const [{ Builder }, { fieldTypes }] = modules;
  return <Builder envelopeId={section === "build" ? id : undefined} templateId={section === "edit" ? id : undefined} bearer={client.token ?? ""} features={{ recipients: true, documents: true, send: true, fieldTypes }} contacts={contacts} signingPage={section === "build" ? (recipient) => `/preview/${id}/${recipient}` : undefined}
    onClose={back} onEvent={(event) => { if (event === "sent") void sent(); }} />;
}

void speak(preferredLanguage()).then(() => render(<Console />, document.getElementById("app")!));
