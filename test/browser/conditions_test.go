package browser_test

import (
	"maps"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConditionsOfThePage checks that the page and the service evaluate every case in the table in models/testdata in
// the same way.
func TestConditionsOfThePage(t *testing.T) {
	t.Parallel()
	const script = `
import { readFileSync } from "node:fs";
import { transformSync } from "esbuild";
const { code } = transformSync(readFileSync("src/sign/conditions.ts", "utf8"), { loader: "ts", format: "esm" });
const { visibleFields } = await import("data:text/javascript;base64," + Buffer.from(code).toString("base64"));
const cases = JSON.parse(readFileSync("../models/testdata/conditions.json", "utf8"));
if (cases.length < 10) throw new Error("too few cases");
for (const c of cases) {
  const got = [...visibleFields(c.fields, c.entered, c.earlier)].sort().join(" "), want = [...c.visible].sort().join(" ");
  if (got !== want) throw new Error(c.name + ": shown are " + got + ", not " + want);
}
console.log(cases.length + " cases agree");`
	cmd := exec.CommandContext(t.Context(), "node", "--input-type=module", "--eval", script)
	cmd.Dir = filepath.Join(svc.root, "web")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "cases agree")
}

// TestConditionOnTheDateOfSigning covers a field that is displayed only if the signer's signing date is filled in. The
// field must be displayed, required, and part of the signature.
func TestConditionOnTheDateOfSigning(t *testing.T) {
	t.Parallel()
	filled := func(is bool) object { return object{"all": []object{{"field": "signed_on", "filled": is}}} }
	at := func(kind, name string, y int, more object) object {
		f := object{"signerId": "0", "type": kind, "name": name, "label": name, "page": 1, "x": 60, "y": y, "w": 200, "h": 22}
		maps.Copy(f, more)
		return f
	}
	e := svc.create(t, "On the day", []object{{"name": "Ada", "email": "ontheday@example.com", "authMethod": "none"}}, []object{
		at("signed_date", "signed_on", 100, nil), at("text", "witness", 140, object{"condition": filled(true)}), at("text", "never", 180, object{"condition": filled(false)}),
	}, leaseDocument())
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.see("1 field left")
	require.Nil(t, eval[any](b, field("never")+` ?? null`))
	b.button("Start")
	b.write(entry, "Grace Hopper")
	b.read()
	b.button("Review and sign")
	b.button("Sign")
	b.see("You signed")
	b.waitUntilStill()
}
