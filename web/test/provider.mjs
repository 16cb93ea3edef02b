// An OpenID provider for the browser tests. It runs the certified "oidc-provider" with its own pages over http on
// this machine. Usage: node provider.mjs <port> <redirect URL> <client ID> <client secret>. It prints "ready" once it
// is ready.
import Provider, { errors } from "oidc-provider";

const [port, redirect, clientID, clientSecret] = process.argv.slice(2);

const people = {
  ada: { email: "ada@provider.example", email_verified: true, name: "Ada Byron", roles: ["other", "admin"] },
  bob: { email: "bob@provider.example", email_verified: true, name: "Bob Babbage", roles: ["viewer"] },
  guest: { email: "guest@provider.example", email_verified: true, name: "Guest", roles: [] },
  fresh: { email: "fresh@provider.example", email_verified: false, name: "Fresh", roles: ["viewer"] },
  factor: { email: "somebody@provider.example", email_verified: true, name: "Somebody Else", roles: ["sender"] },
};

const provider = new Provider(`http://localhost:${port}`, {
  clients: [{ client_id: clientID, client_secret: clientSecret, redirect_uris: [redirect], response_types: ["code"], grant_types: ["authorization_code"] }],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "roles"] },
  features: { devInteractions: { enabled: false } },
  pkce: { required: () => true },
  cookies: { keys: ["a key of the tests"] },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_, id) => people[id] && { accountId: id, claims: () => ({ sub: id, ...people[id] }) },
  // There is no consent page, because the client is the organization's own console.
  async loadExistingGrant(ctx) {
    const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId });
    grant.addOIDCScope("openid profile email");
    await grant.save();
    return grant;
  },
});

provider.use(async (ctx, next) => {
  const [, uid, abort] = /^\/interaction\/([\w-]+)(\/abort)?$/.exec(ctx.path) ?? [];
  if (!uid) return next();
  if (abort) return provider.interactionFinished(ctx.req, ctx.res, { error: "access_denied" }, { mergeWithLastSubmission: false });
  if (ctx.method === "POST") {
    let body = "";
    for await (const part of ctx.req) body += part;
    const accountId = new URLSearchParams(body).get("login");
    if (!people[accountId]) throw new errors.InvalidRequest("nobody is called so");
    ctx.respond = false;
    return provider.interactionFinished(ctx.req, ctx.res, { login: { accountId } }, { mergeWithLastSubmission: false });
  }
  const { prompt } = await provider.interactionDetails(ctx.req, ctx.res);
  ctx.type = "html";
  ctx.body = `<!doctype html><html lang="en"><title>Provider</title><h1>The provider</h1><p>Asked for: ${prompt.name}</p>
<form method="post"><label>Who are you? <input name="login" id="login" autofocus></label><button>Continue</button></form><a id="abort" href="/interaction/${uid}/abort">Go back</a>`;
});

provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
