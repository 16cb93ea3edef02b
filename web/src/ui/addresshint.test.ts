// @vitest-environment node
import { describe, expect, test } from "vitest";
import { addressHint } from "./addresshint";

describe("a hint at a typing error in an address", () => {
  test.each([
    ["ada@exmaple.com", "ada@example.com"], // two adjacent letters exchanged
    ["ada@gmial.com", "ada@gmail.com"],
    ["ada@gmai.com", "ada@gmail.com"], // one letter missing
    ["ada@gmaill.com", "ada@gmail.com"], // one extra letter
    ["ada@gmail.con", "ada@gmail.com"], // one wrong letter
    ["ada@gmail.co", "ada@gmail.com"],
    ["ada@hotmial.co.uk", "ada@hotmail.co.uk"],
    [" Ada.Lovelace+x@GMIAL.com ", "Ada.Lovelace+x@gmail.com"],
    ['"a@b"@gmail.cmo', '"a@b"@gmail.com'],
  ])("%s: %s", (address, meant) => expect(addressHint(address)).toBe(meant));

  test.each([
    "ada@gmail.com", "ada@GMAIL.COM", "ada@mail.com", "ada@aon.com", "ada@live.de", "ada@acme.test", "ada@gnail.org",
    "", "ada", "ada@", "@gmial.com", "ada@gmailcom", `ada@${"a".repeat(300)}.com`,
  ])("none for %j", (address) => expect(addressHint(address)).toBeNull());

  test("no domain of the list is taken for another", () => {
    for (const d of ["yahoo.com", "ymail.com", "gmx.net", "gmx.at", "hotmail.it", "yahoo.fr", "aol.com"]) expect(addressHint(`ada@${d}`)).toBeNull();
  });

  test("domains of the recipients so far count", () => {
    expect(addressHint("bob@analitical.example", ["Analytical.example"])).toBe("bob@analytical.example");
    expect(addressHint("bob@analitical.example")).toBeNull();
    expect(addressHint("bob@gmall.com", ["gmall.com"])).toBeNull();
  });
});
