import { render, type ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { keepFocus } from "../ui/focus";
import { ApiError } from "../ui/http";
import { preferredLanguage, rememberLanguage, setDocumentLanguage, type Language } from "../ui/i18n";
import { Dialog, LanguageChoice, Loading } from "../ui/parts";
import "../ui/base.css";
import "./console.css";
import { keepFor } from "../builder/kept";
import { background, Client, errorText, hasRole, recipientsOf, type Envelope, type Identity } from "./api";
import { Application } from "./application";
import { BulkSendPage, BulkSends } from "./bulk";
import { Contacts } from "./contacts";
import { DeliveryPage } from "./delivery";
import { EnvelopePage } from "./envelope";
import { Envelopes } from "./envelopes";
import { Header } from "./header";
import { Login, type SignInProblem } from "./login";
import { NewBulkSend } from "./newbulk";
import { Account, MustEnrol } from "./ownaccount";
import { ErrorNotice } from "./parts";
import { Problems } from "./problems";
import { AtProvider } from "./proof";
import { providerProblem, takeReturned } from "./provider";
import { useRoute } from "./route";
import { SettingsPage } from "./settings";
import { TemplatePage, Templates } from "./templates";
import { TemporalNotice } from "./temporal";
import { language, loadTexts, t } from "./texts";
import { hasUnsavedEntries } from "./unsaved";
import { Usage } from "./usage";
import { Users } from "./users";
import { Webhooks } from "./webhooks";
import { WorkspaceProvider } from "./workspace";

const look = 60_000; // in milliseconds; interval between checks of the session
// The time for which a covered page is retained after its session has ended, in milliseconds: first for a page without
// unsaved entries, then for a page with unsaved entries.
const coveredFor = 300_000;
const coveredWithEntriesFor = 3_600_000;

const noProblem: SignInProblem = { text: "", account: false };

// The response must be read before any other code reads the URL.
const returned = takeReturned();

/** Loads a language, and applies it to the document. */
async function speak(wanted: Language): Promise<void> {
  setDocumentLanguage(await loadTexts(wanted));
}

function Console() {
  const [, setSpoken] = useState(language()); // this change causes all text to be rendered again
  const choose = (wanted: Language) => {
    rememberLanguage(wanted);
    void speak(wanted).then(() => setSpoken(language()));
  };
  const switcher = <LanguageChoice speech={{ language: language(), t }} onChoose={choose} />;
  const [who, setWho] = useState<Identity | null>(null);
  const [asked, setAsked] = useState(false);
  const [ended, setEnded] = useState(false);
  const [signInProblem, setSignInProblem] = useState<SignInProblem>(noProblem);
  const enter = (w: Identity) => {
    keepFor(w.user?.id ?? w.app.id);
    setWho(w);
    setEnded(false);
  };
  // When a session expires, a dialog covers the page until the user has signed in again. Text that was being entered is
  // kept.
  const client = useMemo(() => new Client((ended) => {
    setEnded(ended);
    if (!ended) setWho(null);
  }), []);
  const locked = who !== null && ended;
  useEffect(() => {
    if (!locked) return;
    const forget = () => setWho(null);
    let timer = setTimeout(() => {
      if (hasUnsavedEntries()) timer = setTimeout(forget, coveredWithEntriesFor - coveredFor);
      else forget();
    }, coveredFor);
    return () => clearTimeout(timer);
  }, [locked]);
  useEffect(() => {
    if (returned && "error" in returned) setSignInProblem({ text: providerProblem(returned.error), account: false });
    else if (returned) {
      void client.complete(returned).then(enter, async (e: unknown) => {
        setSignInProblem({ text: errorText(e), account: e instanceof ApiError && [403, 409].includes(e.status) });
        if (client.token) await client.call<Identity>("me").then(enter, () => undefined);
      }).finally(() => setAsked(true));
      return;
    }
    if (!client.token) setAsked(true);
    else void client.call<Identity>("me").then(enter, () => undefined).finally(() => setAsked(true));
  }, []);
  useEffect(() => {
    if (!who || locked) return;
    const timer = setInterval(() => void client.call("me", background()).catch(() => undefined), look);
    return () => clearInterval(timer);
  }, [who, locked]);
  if (!asked) return null;
  const login = <Login client={client} ended={ended} signInProblem={signInProblem} user={locked ? who.user?.email : undefined} onIn={(w) => { setSignInProblem(noProblem); enter(w); }} foot={switcher} />;
  if (!who) return login;
  return (
    <>
      <Pages key={who.user?.id ?? who.app.id} client={client} who={who} signInProblem={signInProblem} switcher={switcher} onEnrolled={() => setWho({ ...who, mustEnrol: false })} />
      {locked && <Dialog label={t("signIn")} required onClose={() => undefined}>{login}</Dialog>}
    </>
  );
}

/** The page to which the URL refers, for a signed-in user. */
function Pages({ client, who, signInProblem, switcher, onEnrolled }: { client: Client; who: Identity; signInProblem: SignInProblem; switcher: ComponentChildren; onEnrolled: () => void }) {
  const { section, id } = useRoute();
  if (who.mustEnrol) return <MustEnrol client={client} email={who.user?.email ?? ""} onDone={onEnrolled} />;
  if ((section === "build" || section === "edit") && id && hasRole(who, "sender")) return <Workshop key={id} client={client} who={who} section={section} id={id} />;
  const current = section === "deliveries" ? "webhooks" : section;
  return (
    <AtProvider.Provider value={who.signIn === "provider"}><WorkspaceProvider key={who.app.id} client={client} who={who}><div class="console">
      <Header client={client} who={who} current={current} switcher={switcher} />
      <TemporalNotice />
      <main key={`${section}/${id}`}>
        <ErrorNotice text={signInProblem.text} />
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
        {section === "account" && who.user && <Account client={client} email={who.user.email} part={id} />}
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
  const contacts = useMemo(() => recipientsOf(client), [client]);
  const token = useRef("");
  if (client.token) token.current = client.token; // otherwise, the builder waits until the user has signed in again
  const back = () => { location.hash = section === "edit" ? `#/templates/${id}` : `#/envelopes/${id}`; };
  /** If the sender signs first, the signing page opens next. */
  const sent = async () => {
    try {
      const e = await client.call<Envelope>(`envelopes/${id}`);
      const me = e.signers.find((s) => s.email === who.user?.email && s.status === "sent");
      if (me) {
        const { signingUrl } = await client.call<{ signingUrl: string }>(`/v1/envelopes/${id}/signers/${me.id}/signing-link`, { method: "POST", body: {}, key: `${id}-${me.id}` });
        location.assign(signingUrl);
        return;
      }
    } catch {
      // The envelope has been sent regardless of this error, and the envelope's page displays its state.
    }
    back();
  };
  if (problem) return <main class="narrow"><ErrorNotice text={t("builderNotLoaded")} /></main>;
  if (!modules) return <Loading text={t("loading")} />;
  const [{ Builder }, { fieldTypes }] = modules;
  return <Builder envelopeId={section === "build" ? id : undefined} templateId={section === "edit" ? id : undefined} bearer={token.current} features={{ recipients: true, documents: true, send: true, fieldTypes }} contacts={contacts} signingPage={section === "build" ? (recipient) => `/preview/${id}/${recipient}` : undefined}
    onClose={back} onEvent={(event, more) => { if (event === "sent") void sent(); else if (event === "error" && more?.code === "session_expired") client.sessionEnded(); }} />;
}

keepFocus();
void speak(preferredLanguage()).then(() => render(<Console />, document.getElementById("app")!));
