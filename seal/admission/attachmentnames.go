package admission

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"

	"countersign/pdf"
	"countersign/seal/manifest"
	"countersign/seal/rejection"
)

func reserved(name string) *rejection.Error {
	return rejection.New(rejection.PDFAttachment, fmt.Sprintf("The PDF has an attachment named %s, which is reserved for the seal record. "+
		"Remove or rename the attachment.", name))
}

// isReserved reports whether people or file systems could mistake a name for a reserved one. It ignores letter case,
// character width variants, invisible characters, directories, and leading or trailing spaces.
func isReserved(name string) bool {
	name = norm.NFKC.String(strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Cc, unicode.Mn) {
			return -1
		}
		return r
	}, name))
	if i := strings.LastIndexAny(name, `/\:`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Trim(name, " .")
	return strings.EqualFold(name, manifest.FileName) || strings.EqualFold(name, manifest.AttachmentKey)
}

// fileSpec rejects a file specification (7.11.3) that uses the name of the seal record.
func (n *inspector) fileSpec(d pdf.Dict) error {
	for _, key := range []string{"F", "UF", "DOS", "Mac", "Unix"} {
		v, err := n.f.Resolve(d.Get(key))
		if err != nil {
			return err
		}
		if name, ok := textOfString(v); ok && slices.ContainsFunc(name, isReserved) {
			return reserved(manifest.FileName)
		}
	}
	return nil
}

// attachmentKeys rejects a name tree of embedded files that contains the key of the seal record.
func attachmentKeys(ctx context.Context, f *pdf.File, catalog pdf.Dict) error {
	names, err := pdf.OptionalDict(f, catalog.Get("Names"))
	if err != nil || names == nil {
		return err
	}
	return pdf.WalkNames(f, names.Get("EmbeddedFiles"), func(key, _ pdf.Value) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if name, ok := textOfString(key); ok && slices.ContainsFunc(name, isReserved) {
			return reserved(manifest.AttachmentKey)
		}
		return nil
	})
}

// textOfString returns the possible readings of a string. A text string can begin with a byte order mark (7.9.2.2),
// which some programs respect and others ignore.
func textOfString(v pdf.Value) ([]string, bool) {
	b, ok := v.Bytes()
	if !ok {
		return nil, false
	}
	plain := make([]rune, 0, len(b)) // PDFDocEncoding and Latin-1 agree on the characters of reserved names
	for _, c := range b {
		plain = append(plain, rune(c))
	}
	all := []string{string(plain), string(b)}
	if len(b) >= 2 && len(b)%2 == 0 {
		for _, order := range []binary.ByteOrder{binary.BigEndian, binary.LittleEndian} {
			u := make([]uint16, 0, len(b)/2)
			for i := 0; i < len(b); i += 2 {
				u = append(u, order.Uint16(b[i:]))
			}
			all = append(all, string(utf16.Decode(u)))
		}
	}
	return all, true
}
