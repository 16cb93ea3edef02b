package forgeries_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// effect is the effect of a forgery on a victim or on a person who examines the evidence. It is demonstrated with a
// program that does not know this service, so that an ineffective forgery is detected.
type effect struct {
	reader string
	shown  func(dir string, g *genuine, forged []byte) error
}

// run runs a program and returns its output. It ignores the exit status, because PDF programs display as much as they
// can.
func run(dir, name string, args ...string) string {
	cmd := exec.CommandContext(context.Background(), name, args...)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			panic(err)
		}
	}
	return out.String()
}

func saved(dir string, b []byte) string {
	file := filepath.Join(dir, "forged.pdf")
	check(os.WriteFile(file, b, 0o600))
	return file
}

// flat removes the line breaks of a program's output.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

func contains(reader string, get func(dir, file string) string, want string) effect {
	return effect{reader, func(dir string, _ *genuine, b []byte) error {
		if out := get(dir, saved(dir, b)); !strings.Contains(flat(out), want) {
			return fmt.Errorf("%s does not show %q but %.300q", reader, want, flat(out))
		}
		return nil
	}}
}

func lacks(reader string, get func(dir, file string) string, unwanted, anchor string) effect {
	return effect{reader, func(dir string, _ *genuine, b []byte) error {
		out := flat(get(dir, saved(dir, b)))
		if strings.Contains(out, unwanted) || !strings.Contains(out, anchor) {
			return fmt.Errorf("%s shows %.300q", reader, out)
		}
		return nil
	}}
}

func popplerText(dir, file string) string { return run(dir, "pdftotext", file, "-") }
func mupdfText(dir, file string) string   { return run(dir, "mutool", "draw", "-q", "-F", "txt", file) }

// pdfjsText returns the text that pdf.js, the PDF viewer of Firefox, displays. The text is preceded by the file's
// identifier. If pdf.js displays nothing, pdfjsText returns the reason.
func pdfjsText(dir, file string) string {
	return run(dir, "node", must(filepath.Abs("pdftext.mjs")), must(filepath.Abs("../clients/node_modules/pdfjs-dist")), file)
}

func pdfjs(want string) effect { return contains("pdf.js", pdfjsText, want) }

func poppler(want string) effect { return contains("poppler", popplerText, want) }
func mupdf(want string) effect   { return contains("mupdf", mupdfText, want) }

// popplerLacks checks that the agreement's text is missing, but the rest of the file is displayed.
func popplerLacks(unwanted, anchor string) effect {
	return lacks("poppler", popplerText, unwanted, anchor)
}

func mupdfLacks(unwanted, anchor string) effect { return lacks("mupdf", mupdfText, unwanted, anchor) }

// either checks that at least one of two programs displays the forged text in the file.
func either(want string) effect {
	return effect{"poppler or mupdf", func(dir string, g *genuine, b []byte) error {
		first := poppler(want).shown(dir, g, b)
		if first == nil {
			return nil
		}
		if second := mupdf(want).shown(dir, g, b); second != nil {
			return errors.Join(first, second)
		}
		return nil
	}}
}

// picture checks that at least one of two programs renders a page differently.
func picture(page int) effect {
	return effect{"pdftoppm or mutool", func(dir string, g *genuine, b []byte) error {
		poppler := func(b []byte) string {
			return run(dir, "pdftoppm", "-r", "20", "-cropbox", "-f", fmt.Sprint(page), "-l", fmt.Sprint(page), "-q", saved(dir, b))
		}
		mupdf := func(b []byte) string {
			return run(dir, "mutool", "draw", "-q", "-r", "20", "-F", "ppm", "-o", "-", saved(dir, b), fmt.Sprint(page))
		}
		if poppler(g.bytes) == poppler(b) && mupdf(g.bytes) == mupdf(b) {
			return errors.New("the rendered page has not changed")
		}
		return nil
	}}
}

// object checks that qpdf reads the forger's version of an object.
func object(what, want string) effect {
	return contains("qpdf", func(dir, file string) string { return run(dir, "qpdf", "--show-object="+what, file) }, want)
}

// stream checks that qpdf reads the forger's version of a page's content.
func stream(want string) effect {
	return contains("qpdf", func(dir, file string) string {
		return run(dir, "qpdf", "--show-object="+strconv.Itoa(objContent), "--raw-stream-data", file)
	}, want)
}

func information(want string) effect {
	return contains("pdfinfo", func(dir, file string) string { return run(dir, "pdfinfo", file) }, want)
}

// attachment checks that the attachment with the given name, as extracted by pdfdetach, is the forger's.
func attachment(name, want string) effect {
	return contains("pdfdetach", func(dir, file string) string {
		run(dir, "pdfdetach", "-saveall", "-o", dir, file)
		b, _ := os.ReadFile(filepath.Join(dir, name))
		return string(b)
	}, want)
}

// signatures checks the output of pdfsig.
func signatures(want string) effect {
	return contains("pdfsig", func(dir, file string) string { return run(dir, "pdfsig", "-nocert", file) }, want)
}

// nothing represents an effect that is not visible on the pages. Its parameter describes that effect.
func nothing(why string) effect {
	return effect{"none: " + why, func(string, *genuine, []byte) error { return nil }}
}

// openssl checks that openssl accepts the value of the n-th signature as valid CMS, although the service would not
// write this value.
func openssl(n int) effect {
	return effect{"openssl cms", func(dir string, g *genuine, b []byte) error {
		list := holes(b, len(g.original))
		h := list[(n+len(list))%len(list)]
		end := h.end
		if end == 0 || end > len(b) {
			end = len(b)
		}
		check(os.WriteFile(filepath.Join(dir, "covered"), append(bytes.Clone(b[:h.from]), b[h.to:end]...), 0o600))
		der := must(decodeHex(b[h.from+1 : h.to-1]))
		check(os.WriteFile(filepath.Join(dir, "cms"), der, 0o600))
		out := run(dir, "openssl", "cms", "-verify", "-binary", "-inform", "DER", "-in", "cms", "-content", "covered", "-noverify", "-out", "out")
		if !strings.Contains(out, "successful") {
			return fmt.Errorf("openssl: %s", out)
		}
		return nil
	}}
}

// opensslToken checks that openssl accepts the last time-stamp as valid CMS.
func opensslToken() effect {
	return effect{"openssl cms", func(dir string, g *genuine, b []byte) error {
		list := holes(b, len(g.original))
		h := list[len(list)-1]
		check(os.WriteFile(filepath.Join(dir, "token"), must(decodeHex(b[h.from+1:h.to-1])), 0o600))
		if out := run(dir, "openssl", "cms", "-verify", "-inform", "DER", "-in", "token", "-noverify", "-binary", "-out", "out"); !strings.Contains(out, "successful") {
			return fmt.Errorf("openssl: %s", out)
		}
		return nil
	}}
}

func decodeHex(b []byte) ([]byte, error) {
	return hex.DecodeString(string(bytes.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n", r) {
			return -1
		}
		return r
	}, b)))
}
