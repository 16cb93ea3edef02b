package browser_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNumbersAsTyped checks that a number is parsed according to the conventions of the language, or left as typed and
// rejected, but never changed to another number. The displayed number contains every digit of the parsed number.
func TestNumbersAsTyped(t *testing.T) {
	t.Parallel()
	type example struct{ Locale, Typed, Read, Shown string }
	same := func(locale, typed string) example { return example{locale, typed, typed, typed} }
	examples := []example{
		{"en-US", "1,234.50", "1234.50", "1234.50"},
		{"en-US", "1,234", "1234", "1234"},
		{"en-US", "-1,234,567.5", "-1234567.5", "-1234567.5"},
		{"en-US", "1 234.5", "1234.5", "1234.5"},
		{"en-US", "01067", "01067", "01067"},
		{"en-US", "1.50", "1.50", "1.50"},
		same("en-US", "1500,50"), same("en-US", "1,5"), same("en-US", "12,34"), same("en-US", "1,2345"), same("en-US", "1 5"), same("en-US", "1,234 567"), same("en-US", "1.5,00"),
		same("en", "12,50"),
		{"en-IN", "12,34,567.5", "1234567.5", "1234567.5"},
		{"en-IN", "1,234,567", "1234567", "1234567"},
		same("en-US", "12,34,567"),
		{"de-DE", "1.234", "1234", "1234"},
		{"de-DE", "1.234,50", "1234.50", "1234,50"},
		{"de-DE", "12,5", "12.5", "12,5"},
		{"de-DE", "01067", "01067", "01067"},
		{"de-DE", "12.5", "12.5", "12,5"},
		same("de-DE", "1.5,5"), same("de-DE", "1.234.5"),
		{"de-CH", "1'234.5", "1234.5", "1234.5"},
		{"es", "1.234", "1234", "1234"},
		{"es", "12.345,6", "12345.6", "12345,6"},
		{"pt-BR", "1.234", "1234", "1234"},
		{"he", "1,234.5", "1234.5", "1234.5"},
		same("he", "1,5"),
		{"ja", "12,345", "12345", "12345"},
		same("ja", "1234,5"),
		{"fr-FR", "1 234,5", "1234.5", "1234,5"},
		{"fr-FR", "1\u202f234", "1234", "1234"},
		same("fr-FR", "1 5"),
		{"sv", "\u221212,5", "-12.5", "-12,5"},
		{"ar-EG", "١٬٢٣٤٫٥", "1234.5", "1234٫5"},
		// Digits of any script are accepted in every language of the page. Arabic digits have their own separators.
		{"ar", "١٢٣", "123", "123"},
		{"ar", "١٬٢٣٤٫٥", "1234.5", "1234.5"},
		{"ar", "1,234.5", "1234.5", "1234.5"},
		{"ar-EG", "1234", "1234", "1234"},
		{"de", "١٬٢٣٤٫٥", "1234.5", "1234,5"},
		{"en", "۱۲۳", "123", "123"},
		{"hi", "१२,३४५", "12345", "12345"},
		{"ja", "１２３", "123", "123"},
		{"ja", "－１，２３４．５", "-1234.5", "-1234.5"},
		{"en", "𝟝𝟞𝟟", "567", "567"},
		same("en", "5²"), same("en", "½"), same("ja", "三"),
		// Numbers with a leading zero have no grouping separators.
		{"de-DE", "0.500", "0.500", "0,500"},
		{"de-DE", "0.125", "0.125", "0,125"},
		{"de-DE", "-0.500", "-0.500", "-0,500"},
		{"de-DE", "0,500", "0.500", "0,500"},
		{"es", "0.500", "0.500", "0,500"},
		{"it", "0.500", "0.500", "0,500"},
		{"pt-BR", "0.500", "0.500", "0,500"},
		{"tr", "0.500", "0.500", "0,500"},
		same("en-US", "0,500"), same("he", "0,500"), same("ja", "0,500"), same("en", "00,500"), same("en", "01,234"), same("fr-FR", "0 500"),
		{"ja", "0.500", "0.500", "0.500"},
		same("en-US", "about 5"),
		{"en-US", "", "", ""},
	}
	given, err := json.Marshal(examples)
	require.NoError(t, err)
	const script = `
import { buildSync } from "esbuild";
const { outputFiles } = buildSync({ entryPoints: ["src/sign/formats.ts"], bundle: true, write: false, format: "esm" });
const { readNumber, typedNumber } = await import("data:text/javascript;base64," + Buffer.from(outputFiles[0].text).toString("base64"));
console.log(JSON.stringify(JSON.parse(process.argv[1]).map((e) => { const read = readNumber(e.Typed, e.Locale); return { ...e, Read: read, Shown: typedNumber(read, e.Locale) }; })));`
	cmd := exec.CommandContext(t.Context(), "node", "--input-type=module", "--eval", script, "--", string(given))
	cmd.Dir = filepath.Join(svc.root, "web")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	var got []example
	require.NoError(t, json.Unmarshal(out, &got), "%s", out)
	require.Equal(t, examples, got)
}

// TestDigitsOfAllScripts checks that every decimal digit in Unicode is converted to its value.
func TestDigitsOfAllScripts(t *testing.T) {
	t.Parallel()
	const script = `
import { buildSync } from "esbuild";
const { outputFiles } = buildSync({ entryPoints: ["src/ui/digits.ts"], bundle: true, write: false, format: "esm" });
const { latinDigits } = await import("data:text/javascript;base64," + Buffer.from(outputFiles[0].text).toString("base64"));
const rows = [];
for (let c = 0; c < 0x110000; c++) if (/\p{Nd}/u.test(String.fromCodePoint(c))) rows.push(latinDigits(String.fromCodePoint(c)));
console.log(JSON.stringify({ rows: rows.join(""), mixed: latinDigits("٣ and 7, x²") }));`
	cmd := exec.CommandContext(t.Context(), "node", "--input-type=module", "--eval", script)
	cmd.Dir = filepath.Join(svc.root, "web")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	var got struct{ Rows, Mixed string }
	require.NoError(t, json.Unmarshal(out, &got), "%s", out)
	require.Greater(t, len(got.Rows), 500)
	require.Equal(t, strings.Repeat("0123456789", len(got.Rows)/10), got.Rows)
	require.Equal(t, "3 and 7, x²", got.Mixed)
}
