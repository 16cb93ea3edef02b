package browser_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConditionsOfThePage: the page's function and the service's agree on every case of
// the table in models/testdata.
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
