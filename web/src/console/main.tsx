import { render } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import "../ui/base.css";
import "./console.css";
import { Title } from "../ui/parts";
import { Contacts, SettingsPage, Usage } from "./account";
import { Client, words, type Who } from "./api";
import { EnvelopePage, Envelopes } from "./envelopes";
import { Problem } from "./parts";
import { DeliveryPage, Webhooks } from "./webhooks";

const sections = { envelopes: "Envelopes", webhooks: "Webhooks", contacts: "Contacts", usage: "Usage", settings: "Settings" } as const;

function Console() {
  const [who, setWho] = useState<Who | null>(null);
  const [route, setRoute] = useState(location.hash);
  const [asked, setAsked] = useState(false);
  const [ended, setEnded] = useState(false);
  const client = useMemo(() => new Client((ended) => { setWho(null); setEnded(ended); }), []);
  useEffect(() => {
    const change = () => { setRoute(location.hash); scrollTo(0, 0); };
    addEventListener("hashchange", change);
    if (!client.token) setAsked(true);
    else void client.call<Who>("me").then(setWho, () => undefined).finally(() => setAsked(true));
    return () => removeEventListener("hashchange", change);
  }, []);
  if (!asked) return null;
  if (!who) return <Login client={client} ended={ended} onIn={setWho} />;
  const [, section = "envelopes", id] = route.split("/");
  const current = section === "deliveries" ? "webhooks" : section;
  return (
    <div class="console">
      <header class="masthead">
        <strong>Countersign</strong>
        <nav aria-label="Sections">{Object.entries(sections).map(([key, name]) => <a key={key} href={`#/${key}`} aria-current={key === current ? "page" : undefined}>{name}</a>)}</nav>
        <span class="quiet small"><bdi>{who.app.name}</bdi>{who.user && <> · <bdi>{who.user.name}</bdi>, {who.user.role}</>}</span>
        <button type="button" class="bare small" onClick={() => client.logout()}>Sign out</button>
      </header>
      <main key={route}>
        {section === "envelopes" && !id && <Envelopes client={client} />}
        {section === "envelopes" && id && <EnvelopePage client={client} who={who} id={id} />}
        {section === "webhooks" && <Webhooks client={client} who={who} />}
        {section === "deliveries" && id && <DeliveryPage client={client} who={who} id={id} />}
        {section === "contacts" && <Contacts client={client} who={who} />}
        {section === "usage" && <Usage client={client} />}
        {section === "settings" && <SettingsPage client={client} who={who} />}
      </main>
    </div>
  );
}

function Login({ client, ended, onIn }: { client: Client; ended: boolean; onIn: (w: Who) => void }) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const enter = async (e: SubmitEvent) => {
    e.preventDefault();
    setBusy(true);
    try {
      onIn(await client.login(email, password));
    } catch (x) {
      setProblem(words(x));
      setBusy(false);
    }
  };
  return (
    <main class="narrow">
      <form class="card stack" onSubmit={(e) => void enter(e)}>
        <Title>Countersign console</Title>
        {ended && <p class="notice" role="status">Your session has ended. Please sign in again.</p>}
        <div><label for="email">E-mail</label><input id="email" type="email" autocomplete="username" required value={email} onInput={(e) => setEmail(e.currentTarget.value)} /></div>
        <div><label for="password">Password</label><input id="password" type="password" autocomplete="current-password" required value={password} onInput={(e) => setPassword(e.currentTarget.value)} /></div>
        <Problem text={problem} />
        <button disabled={busy}>Sign in</button>
      </form>
    </main>
  );
}

render(<Console />, document.getElementById("app")!);
