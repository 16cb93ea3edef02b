/** The domains of common email providers. A recipient's own organization is not among them. */
const commonDomains = [
  "gmail.com", "googlemail.com", "outlook.com", "hotmail.com", "live.com", "yahoo.com", "ymail.com", "icloud.com", "proton.me", "protonmail.com",
  "t-online.de", "freenet.de", "posteo.de", "mailbox.org", "hotmail.co.uk", "yahoo.co.uk", "btinternet.com", "hotmail.fr", "yahoo.fr", "orange.fr",
  "wanadoo.fr", "laposte.net", "libero.it", "hotmail.it", "seznam.cz", "interia.pl", "bluewin.ch", "ziggo.nl", "telia.com", "comcast.net",
  "verizon.net", "yahoo.co.jp", "uol.com.br", "terra.com.br", "example.com",
];

/** Existing domains that differ by one edit from a common domain and are therefore not typos. */
const otherDomains = new Set(["mail.com", "email.com", "ymail.co", "line.com", "love.com", "life.com", "five.com", "hive.com", "live.de", "live.fr", "live.it", "live.nl", "live.ca", "yahoo.ca", "hotmail.de", "hotmail.es"]);

/**
 * Reports whether one insertion, deletion, replacement or exchange of adjacent letters turns a into b. The two must
 * differ.
 */
function oneEdit(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  const [restA, restB] = [a.slice(start), b.slice(start)];
  return (
    restA.slice(1) === restB.slice(1) ||
    restA.slice(1) === restB ||
    restA === restB.slice(1) ||
    (restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2))
  );
}

/** Shorter domains are too similar to each other to justify a hint. */
const shortestHint = 8;

/**
 * Returns the address that was probably intended if the domain of an email address is one typo away from a common
 * domain, or from one of the given domains, such as those of earlier recipients. Returns null otherwise. The result is
 * only a hint, because the address may be correct.
 */
export function addressHint(address: string, known: readonly string[] = []): string | null {
  const trimmed = address.trim();
  const at = trimmed.lastIndexOf("@");
  const domain = trimmed.slice(at + 1).toLowerCase();
  if (at < 1 || domain.length > 253 || !domain.includes(".")) return null;
  const domains = [...known.map((d) => d.toLowerCase()), ...commonDomains];
  if (domains.includes(domain) || otherDomains.has(domain)) return null;
  const meant = domains.find((d) => d.length >= shortestHint && oneEdit(domain, d));
  return meant === undefined ? null : `${trimmed.slice(0, at + 1)}${meant}`;
}
