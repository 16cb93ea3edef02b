package admission_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/prepare"
	"countersign/seal/admission"
	"countersign/seal/rejection"
	"countersign/seal/sandbox"
)

// TestMain allows the test binary to run as the process that examines files.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "validate-pdf" {
		os.Exit(sandbox.Serve(context.Background(), os.Stdin, os.Stdout, admission.Tasks()))
	}
	os.Exit(m.Run())
}

// TestAdmitEncryptedIsolated checks that files are decrypted in a separate process with the same result as in this
// process.
func TestAdmitEncryptedIsolated(t *testing.T) {
	t.Parallel()
	lim := admission.DefaultLimits()
	lim.Validators = sandbox.New(os.Args[0], "validate-pdf")
	t.Cleanup(lim.Validators.Close)
	dir := t.TempDir()
	in, locked := filepath.Join(dir, "in.pdf"), filepath.Join(dir, "locked.pdf")
	require.NoError(t, os.WriteFile(in, file("", ""), 0o600))
	out, err := exec.CommandContext(t.Context(), "qpdf", "--encrypt", "user", "owner", "256", "--", in, locked).CombinedOutput()
	require.NoError(t, err, string(out))
	b, err := os.ReadFile(locked)
	require.NoError(t, err)
	lim.MaxBytes = int64(len(b)) // a file of exactly this size is accepted
	for password, want := range map[string]string{"user": "", "owner": "", "guess": rejection.PDFPassword, "": rejection.PDFPassword} {
		u := admission.Upload{File: bytes.NewReader(b), Size: int64(len(b)), SHA256: sha256.Sum256(b), Password: &password}
		_, p, err := admission.AdmitUpload(t.Context(), u, lim, prepare.Options{})
		if want != "" {
			var r *rejection.Error
			require.ErrorAs(t, err, &r, password)
			require.Equal(t, want, r.Code, password)
			continue
		}
		require.NoError(t, err, password)
		require.NotEmpty(t, p.Rewritten, password)
	}
}

// TestAdmitEncrypted_DamagedDictionary_IsRejected checks that a file whose encryption dictionary cannot be parsed is
// rejected as damaged, in a separate process and in this one.
func TestAdmitEncrypted_DamagedDictionary_IsRejected(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in, locked := filepath.Join(dir, "in.pdf"), filepath.Join(dir, "locked.pdf")
	require.NoError(t, os.WriteFile(in, file("", ""), 0o600))
	out, err := exec.CommandContext(t.Context(), "qpdf", "--encrypt", "", "owner", "256", "--", in, locked).CombinedOutput()
	require.NoError(t, err, string(out))
	b, err := os.ReadFile(locked)
	require.NoError(t, err)
	damaged := bytes.Replace(b, []byte("/StmF /StdCF"), []byte(">> >> >> >> "), 1)
	require.NotEqual(t, b, damaged)
	isolated := admission.DefaultLimits()
	isolated.Validators = sandbox.New(os.Args[0], "validate-pdf")
	t.Cleanup(isolated.Validators.Close)
	for name, lim := range map[string]admission.Limits{"isolated": isolated, "in this process": admission.DefaultLimits()} {
		u := admission.Upload{File: bytes.NewReader(damaged), Size: int64(len(damaged)), SHA256: sha256.Sum256(damaged)}
		_, _, err := admission.AdmitUpload(t.Context(), u, lim, prepare.Options{})
		var r *rejection.Error
		require.ErrorAs(t, err, &r, name)
		require.Equal(t, rejection.PDFNeedsRepair, r.Code, name)
	}
}

// TestAdmitEncrypted checks, for each encryption method in use, that the correct password opens a file, and that the
// decrypted file is examined and prepared. Without a password or with a wrong one, the file is rejected.
func TestAdmitEncrypted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := filepath.Join(dir, "in.pdf")
	require.NoError(t, os.WriteFile(in, file("/OpenAction<</S/JavaScript/JS(a)>>", ""), 0o600))
	ptr := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		encrypt  []string
		password *string
		want     string
	}{
		"AES-256, user":           {[]string{"user", "owner", "256", "--"}, ptr("user"), ""},
		"AES-256, owner":          {[]string{"user", "owner", "256", "--"}, ptr("owner"), ""},
		"AES-128":                 {[]string{"pässwörd", "owner", "128", "--use-aes=y", "--"}, ptr("owner"), ""},
		"RC4":                     {[]string{"user", "owner", "128", "--use-aes=n", "--"}, ptr("user"), ""},
		"empty":                   {[]string{"", "owner", "256", "--"}, ptr(""), ""},
		"empty, nothing given":    {[]string{"", "owner", "256", "--"}, nil, ""},
		"user, nothing given":     {[]string{"user", "owner", "256", "--"}, nil, rejection.PDFEncrypted},
		"another":                 {[]string{"user", "owner", "256", "--"}, ptr("guess"), rejection.PDFPassword},
		"empty is not the user's": {[]string{"user", "owner", "256", "--"}, ptr(""), rejection.PDFPassword},
		"too long":                {[]string{"user", "owner", "256", "--"}, ptr(strings.Repeat("x", 200)), rejection.PDFPassword},
		"not encrypted":           {nil, ptr("user"), "plain"},
	} {
		locked := in
		if c.encrypt != nil {
			locked = filepath.Join(dir, strings.ReplaceAll(name, " ", "")+".pdf")
			args := append([]string{"--allow-weak-crypto", "--encrypt"}, c.encrypt...)
			out, err := exec.CommandContext(t.Context(), "qpdf", append(args, in, locked)...).CombinedOutput()
			require.NoError(t, err, string(out))
		}
		b, err := os.ReadFile(locked)
		require.NoError(t, err)
		u := admission.Upload{File: bytes.NewReader(b), Size: int64(len(b)), SHA256: sha256.Sum256(b), Password: c.password}
		info, p, err := admission.AdmitUpload(t.Context(), u, admission.DefaultLimits(), prepare.Options{Tags: prepare.TagsDetect})
		if c.want != "" && c.want != "plain" {
			var r *rejection.Error
			require.ErrorAs(t, err, &r, name)
			require.Equal(t, c.want, r.Code, name)
			require.NotContains(t, r.Message, "guess")
			continue
		}
		require.NoError(t, err, name)
		require.Len(t, info.Pages, 1, name)
		kinds := ""
		for _, change := range p.Changes {
			kinds += change.Kind + " "
		}
		if c.want == "plain" {
			require.Nil(t, p.Rewritten, name)
			require.Equal(t, "javascript_removed tags_removed ", kinds, name)
			continue
		}
		require.Equal(t, "password_removed javascript_removed tags_removed ", kinds, name)
		whole := append(bytes.Clone(p.Rewritten), p.Appended...)
		_, err = admission.Admit(t.Context(), bytes.NewReader(whole), int64(len(whole)), admission.DefaultLimits())
		require.NoError(t, err, name)
	}
}

// encrypted returns a copy of a PDF encrypted by qpdf.
func encrypted(t *testing.T, b []byte, user string, method ...string) []byte {
	t.Helper()
	in, out := filepath.Join(t.TempDir(), "in.pdf"), filepath.Join(t.TempDir(), "out.pdf")
	require.NoError(t, os.WriteFile(in, b, 0o600))
	args := append([]string{"--allow-weak-crypto", "--object-streams=disable", "--encrypt", user, "owner"}, method...)
	text, err := exec.CommandContext(t.Context(), "qpdf", append(args, "--", in, out)...).CombinedOutput()
	require.NoError(t, err, string(text))
	b, err = os.ReadFile(out)
	require.NoError(t, err)
	return b
}

// withShortStream appends a stream to a PDF that is too short for AES data, so pdfcpu does not decrypt the PDF.
func withShortStream(t *testing.T, b []byte) []byte {
	t.Helper()
	_, trailer, ok := bytes.Cut(b, []byte("trailer << "))
	require.True(t, ok)
	trailer, after, _ := bytes.Cut(trailer, []byte(" >>\nstartxref\n"))
	start, _, _ := bytes.Cut(after, []byte("\n"))
	size := regexp.MustCompile(`/Size (\d+)`).FindSubmatch(trailer)
	require.NotNil(t, size)
	var next int
	_, err := fmt.Sscan(string(size[1]), &next)
	require.NoError(t, err)
	trailer = bytes.Replace(trailer, size[0], fmt.Appendf(nil, "/Size %d /Prev %s", next+1, start), 1)
	object := fmt.Sprintf("%d 0 obj\n<</Length 1>>\nstream\nx\nendstream\nendobj\n", next)
	return append(bytes.Clone(b), fmt.Sprintf("%sxref\n%d 1\n%010d 00000 n \ntrailer << %s >>\nstartxref\n%d\n%%%%EOF\n", object, next, len(b), trailer, len(b)+len(object))...)
}

// TestAdmitEncrypted_WithoutOptionalEntries_IsDecrypted checks that a file is decrypted if optional entries are missing
// that pdfcpu requires.
func TestAdmitEncrypted_WithoutOptionalEntries_IsDecrypted(t *testing.T) {
	t.Parallel()
	password := "user"
	for _, method := range []string{"--use-aes=y", "--force-V4"} {
		b := encrypted(t, file("", ""), password, "128", method)
		for _, missing := range []string{" /Length 16 ", " /Length 128 "} {
			require.Contains(t, string(b), missing)
			u := uploadOf(bytes.Replace(b, []byte(missing), bytes.Repeat([]byte(" "), len(missing)), 1))
			u.Password = &password
			info, p, err := admission.AdmitUpload(t.Context(), u, admission.DefaultLimits(), prepare.Options{})
			require.NoError(t, err, method+missing)
			require.Len(t, info.Pages, 1)
			require.NotContains(t, string(p.Rewritten), "/Encrypt")
		}
	}
}

// TestAdmitEncrypted_SignatureWithoutOptionalEntries_IsRecognized checks that an encrypted file is rejected as signed if
// its signature has only the required entries, and admitted if a dictionary of this type contains no signature.
func TestAdmitEncrypted_SignatureWithoutOptionalEntries_IsRecognized(t *testing.T) {
	t.Parallel()
	password := "user"
	for sig, code := range map[string]string{
		"<</Filter/Adobe.PPKLite/ByteRange[0 1 2 3]/Contents<00>>>": rejection.DocumentSigned,
		"<</Type/Sig>>": "",
	} {
		b := file("/AcroForm<</Fields[6 0 R]>>", "/Annots[6 0 R]", "<</Type/Annot/Subtype/Widget/FT/Sig/T(a)/F 4/Rect[0 0 0 0]/V 7 0 R>>", sig)
		u := uploadOf(encrypted(t, b, password, "128", "--use-aes=y"))
		u.Password = &password
		_, _, err := admission.AdmitUpload(t.Context(), u, admission.DefaultLimits(), prepare.Options{})
		if code == "" {
			require.NoError(t, err)
			continue
		}
		var r *rejection.Error
		require.ErrorAs(t, err, &r)
		require.Equal(t, code, r.Code)
	}
}

// TestAdmitPasswordCharacters checks that passwords with spaces, symbols and characters of other scripts open files that
// other programs encrypted, with each encryption method and in each encoding in use.
func TestAdmitPasswordCharacters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := filepath.Join(dir, "in.pdf")
	require.NoError(t, os.WriteFile(in, file("", ""), 0o600))
	lim := admission.DefaultLimits()
	lim.Validators = sandbox.New(os.Args[0], "validate-pdf")
	t.Cleanup(lim.Validators.Close)
	n := 0
	for _, method := range [][]string{{"256"}, {"256", "--force-R5"}, {"128", "--use-aes=y"}, {"128", "--use-aes=n"}, {"40"}} {
		for _, c := range []struct {
			set, given string
			mode       string // how qpdf encodes the password
			aes256     bool   // whether only AES-256 supports it
		}{
			{"a b €", "a b €", "unicode", false},
			{"a b €", "a b €", "bytes", false}, // UTF-8
			{"  $%&/()=?  ", "  $%&/()=?  ", "unicode", false},
			{"pässwörd ß", "pässwörd ß", "unicode", false},
			{"p\xe4ss", "päss", "bytes", false},   // Latin-1
			{"p\x80ss", "p€ss", "bytes", false},   // Windows-1252
			{"päss", "p\xe4ss", "unicode", false}, // sent in a header in Latin-1
			{"пароль 🔑 密码", "пароль 🔑 密码", "unicode", true},
			{"IX fi", "Ⅸ\u00a0\ufb01\u00ad", "unicode", true},                      // SASLprep
			{strings.Repeat("x", 127), strings.Repeat("x", 200), "unicode", false}, // 127 bytes count
		} {
			is256 := method[0] == "256"
			if !is256 && c.aes256 || is256 && c.mode == "bytes" && c.set != "a b €" {
				continue
			}
			for _, owner := range []bool{false, true} {
				n++
				locked := filepath.Join(dir, fmt.Sprint(n, ".pdf"))
				args := []string{"--allow-weak-crypto", "--password-mode=" + c.mode, "--encrypt", c.set, "owner of it"}
				if owner {
					args[3], args[4] = "user of it", c.set
				}
				out, err := exec.CommandContext(t.Context(), "qpdf", append(append(args, method...), "--", in, locked)...).CombinedOutput()
				require.NoError(t, err, string(out))
				b, err := os.ReadFile(locked)
				require.NoError(t, err)
				open := func(password string) error {
					_, p, err := admission.AdmitUpload(t.Context(), admission.Upload{File: bytes.NewReader(b), Size: int64(len(b)), SHA256: sha256.Sum256(b), Password: &password}, lim, prepare.Options{})
					if err == nil {
						require.Contains(t, string(p.Rewritten), "/MediaBox")
						require.NotContains(t, string(p.Rewritten), "/Encrypt")
					}
					return err
				}
				require.NoError(t, open(c.given), "%v %q, owner: %v", method, c.given, owner)
				var r *rejection.Error
				require.ErrorAs(t, open("wrong €"), &r)
				require.Equal(t, rejection.PDFPassword, r.Code)
			}
		}
	}
}

// TestAdmitDirectEncryptionDictionary checks that a file is decrypted if its trailer contains the encryption dictionary.
func TestAdmitDirectEncryptionDictionary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in, locked := filepath.Join(dir, "in.pdf"), filepath.Join(dir, "locked.pdf")
	require.NoError(t, os.WriteFile(in, file("", ""), 0o600))
	for _, method := range []string{"128", "256"} {
		out, err := exec.CommandContext(t.Context(), "qpdf", "--allow-weak-crypto", "--encrypt", "a b", "owner", method, "--", in, locked).CombinedOutput()
		require.NoError(t, err, string(out))
		b, err := os.ReadFile(locked)
		require.NoError(t, err)
		ref := regexp.MustCompile(`/Encrypt (\d+ 0) R`).FindSubmatch(b)
		require.NotNil(t, ref)
		_, after, _ := bytes.Cut(b, append(append([]byte("\n"), ref[1]...), " obj\n"...))
		dict, _, _ := bytes.Cut(after, []byte("\nendobj"))
		b = bytes.Replace(b, ref[0], append([]byte("/Encrypt "), dict...), 1)
		password := "a b"
		_, p, err := admission.AdmitUpload(t.Context(), admission.Upload{File: bytes.NewReader(b), Size: int64(len(b)), SHA256: sha256.Sum256(b), Password: &password}, admission.DefaultLimits(), prepare.Options{})
		require.NoError(t, err, method)
		require.NotContains(t, string(p.Rewritten), "/Encrypt")
	}
}

// TestAdmitEncryptedMarks checks that an encrypted upload, which the seal attaches unchanged, is rejected if it
// contains bytes that look like a seal.
func TestAdmitEncryptedMarks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in, locked := filepath.Join(dir, "in.pdf"), filepath.Join(dir, "locked.pdf")
	require.NoError(t, os.WriteFile(in, file("", ""), 0o600))
	out, err := exec.CommandContext(t.Context(), "qpdf", "--encrypt", "user", "owner", "256", "--", in, locked).CombinedOutput()
	require.NoError(t, err, string(out))
	b, err := os.ReadFile(locked)
	require.NoError(t, err)
	marks := "%" + strings.Repeat("/CSGN_Seal<</V 1/Record 1 0 R/Original[0 1]", 8) + "\n"
	at := bytes.LastIndex(b, []byte("startxref"))
	b = append(b[:at:at], append([]byte(marks), b[at:]...)...)
	password := "user"
	u := admission.Upload{File: bytes.NewReader(b), Size: int64(len(b)), SHA256: sha256.Sum256(b), Password: &password}
	_, _, err = admission.AdmitUpload(t.Context(), u, admission.DefaultLimits(), prepare.Options{})
	var r *rejection.Error
	require.ErrorAs(t, err, &r)
	require.Equal(t, rejection.DocumentSigned, r.Code)
}
