package browser_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// encrypted encrypts a file with a password that is required to open it.
func encrypted(t *testing.T, file []byte, password string) []byte {
	t.Helper()
	from, to := filed(t, "open.pdf", file), filepath.Join(t.TempDir(), "locked.pdf")
	out, err := exec.CommandContext(t.Context(), "qpdf", "--encrypt", password, "owner", "256", "--", from, to).CombinedOutput()
	require.NoError(t, err, "%s", out)
	locked, err := os.ReadFile(to)
	require.NoError(t, err)
	return locked
}

// TestEncryptedPDFs_AreUploadedWithTheirPasswords uploads encrypted PDFs in every place of the console that accepts
// documents: a new envelope, the builder of an envelope, a new template, and the builder of a template.
func TestEncryptedPDFs_AreUploadedWithTheirPasswords(t *testing.T) {
	t.Parallel()
	b := open(t, desktop)
	consoleUser(b, "filepasswords", "sender")
	const secret = "Schlüssel 1 €" // the header must not change these characters
	locked := encrypted(t, leaseDocument(), secret)
	problem := func(id string) string {
		return eval[string](b, `document.querySelector("#`+id+`").ariaInvalid + ": " + document.getElementById(document.querySelector("#`+id+`").getAttribute("aria-describedby")).textContent`)
	}
	focusedField := func(id string) { b.t.Helper(); b.until(`document.activeElement?.id === "` + id + `"`) }
	const asks, wrong = "true: This PDF is encrypted. Enter the password that opens it. We use it once and don't store it.", "true: This password doesn't open the file. Check it and try again."

	// Select two files, of which only the second one is encrypted.
	b.visit(svc.base + "/console#/envelopes")
	b.button("New envelope")
	b.chooseFiles("#newfiles", filed(t, "lease.pdf", leaseDocument()), filed(t, "locked.pdf", locked))
	b.until(`document.querySelector("#newsubject")?.value === "lease"`)
	b.fill("#newname", "Ada Lovelace")
	b.fill("#newemail", "filepassword-ada@example.com")
	b.button("Continue")
	focusedField("newfilepassword1")
	require.Equal(t, asks, problem("newfilepassword1"))
	require.Equal(t, "Password for locked.pdf", eval[string](b, `document.querySelector("[for=newfilepassword1]").textContent`))
	require.Len(t, eval[[]string](b, `[...document.querySelectorAll("dialog [role=alert]")].map((x) => x.textContent).filter(Boolean)`), 1, "the problem must be displayed once")
	b.checked("console-file-password")
	b.keys("guess\r")
	b.until(`document.querySelector("#newfilepassword1-problem").textContent.startsWith("This password")`)
	focusedField("newfilepassword1")
	require.Equal(t, wrong, problem("newfilepassword1"))
	b.checked("console-file-password-wrong")
	b.fill("#newfilepassword1", secret)
	b.button("Continue")
	b.until(`document.querySelectorAll(".bdocuments > li").length === 2`)

	// A third file is added in the builder. Undo and redo upload it again.
	b.choose(".badd input", "third.pdf", locked)
	focusedField("dpassword")
	b.checked("builder-file-password")
	b.fill("#dpassword", "guess")
	b.click(inDialog("Add a document"))
	b.see("This password doesn't open the file.")
	b.fill("#dpassword", secret)
	b.click(inDialog("Add a document"))
	b.until(dialog + ` === null && document.querySelectorAll(".bdocuments > li").length === 3`)
	b.button("Undo")
	b.until(`document.querySelectorAll(".bdocuments > li").length === 2`)
	b.button("Redo")
	b.until(`document.querySelectorAll(".bdocuments > li").length === 3`)
	b.saved()

	// Create a template, and add a file in its builder.
	b.visit(svc.base + "/console#/templates")
	b.button("New template")
	b.choose("#newfiles", "form.pdf", locked)
	b.fill("#newroles", "Tenant")
	b.button("Continue")
	focusedField("newfilepassword0")
	b.keys(secret + "\r")
	b.until(`document.querySelectorAll(".bdocuments > li").length === 1`)
	b.choose(".badd input", "annex.pdf", locked)
	b.fill("#dpassword", secret)
	b.click(inDialog("Add a document"))
	b.until(dialog + ` === null && document.querySelectorAll(".bdocuments > li").length === 2`)
	b.saved()
}
