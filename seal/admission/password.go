package admission

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"

	"countersign/pdf"
	"countersign/seal"
)

// sentPassword is the maximum length of a password in bytes, as sent. It is longer than maxPassword, because encoding
// can shorten the password.
const sentPassword = 4 * maxPassword

// passwords returns the byte strings that programs derive from a password. Before AES-256, the encoding is
// PDFDocEncoding (7.6.4.3.2), but programs also use Windows-1252 and UTF-8. With AES-256, it is UTF-8 after SASLprep
// (7.6.4.3.3), which many programs omit.
func passwords(password string, aes256 bool) []string {
	if !utf8.ValidString(password) { // sent in an HTTP header in Latin-1
		b, _ := charmap.ISO8859_1.NewDecoder().String(password) // never fails, because every byte is valid in Latin-1
		return append(passwords(b, aes256), password)
	}
	all := []string{password}
	if aes256 {
		all = append(all, saslprep(password))
	} else {
		if b, ok := pdf.EncodeDoc(password); ok {
			all = append(all, string(b))
		}
		if s, err := charmap.Windows1252.NewEncoder().String(password); err == nil {
			all = append(all, s)
		}
	}
	for i, p := range all {
		all[i] = p[:min(len(p), maxPassword)]
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// saslprep returns a password in the form that programs compare (RFC 4013). It does not reject any characters.
func saslprep(password string) string {
	return norm.NFKC.String(strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Zs, r):
			return ' '
		case r == 0x00AD, r == 0x034F, r == 0x1806, r >= 0x180B && r <= 0x180D, r >= 0x200B && r <= 0x200D, r == 0x2060, r >= 0xFE00 && r <= 0xFE0F, r == 0xFEFF:
			return -1 // mapped to nothing (RFC 3454, B.1)
		}
		return r
	}, password))
}

// locked is the encryption dictionary of a file (7.6.4.2).
type locked struct {
	f    *pdf.File
	dict pdf.Dict
	ref  *pdf.Ref
	// revision is the revision of the standard security handler.
	revision int64
}

// readLock reads the encryption dictionary of a file.
func readLock(f *pdf.File) (*locked, error) {
	entry := f.Trailer().Get("Encrypt")
	d, err := f.Dict(entry)
	if err != nil {
		return nil, err
	}
	l := &locked{f: f, dict: d}
	if ref, ok := entry.Ref(); ok {
		l.ref = &ref
	}
	if filter, _ := d.Get("Filter").Name(); filter == "Standard" {
		l.revision, _ = d.Get("R").Int()
	}
	return l, nil
}

// addKeyLengths adds the length of the key to the encryption dictionary and its crypt filters where it is missing. It is
// optional, and always 128 bits with crypt filters before AES-256, but pdfcpu requires it or assumes another length. It
// reports whether it changed the dictionary.
func (l *locked) addKeyLengths() (changed bool, err error) {
	if version, _ := l.dict.Get("V").Int(); version != 4 {
		return false, nil
	}
	l.dict = l.dict.Clone()
	if l.dict.Get("Length") == nil {
		l.dict.Set("Length", pdf.Value("128"))
		changed = true
	}
	filters, err := pdf.OptionalDict(l.f, l.dict.Get("CF"))
	if err != nil {
		return false, err
	}
	for i, e := range filters {
		filter, err := pdf.OptionalDict(l.f, e.Value)
		if err != nil {
			return false, err
		}
		if filter == nil || filter.Get("Length") != nil {
			continue
		}
		filter.Set("Length", pdf.Value("16"))
		filters[i].Value = filter.Value()
		changed = true
	}
	if changed && filters != nil {
		l.dict.Set("CF", filters.Value())
	}
	return changed, nil
}

// isAES256 reports whether the file is encrypted with AES-256.
func (l *locked) isAES256() bool { return l.revision == 5 || l.revision == 6 }

// Sizes of the values that are used to verify AES-256 passwords, in bytes.
const (
	hashSize = 32
	saltSize = 8
	keySize  = 32
)

// fileKey returns the key of a file encrypted with AES-256 (algorithm 2.A). It returns nil if neither the user password
// nor the owner password matches.
func (l *locked) fileKey(password string) ([]byte, error) {
	var user []byte
	for _, who := range []string{"U", "O"} {
		check, ok1 := l.dict.Get(who).Bytes()
		key, ok2 := l.dict.Get(who + "E").Bytes()
		if !ok1 || !ok2 || len(check) < hashSize+2*saltSize || len(key) < keySize {
			return nil, errUndecipherable()
		}
		check = check[:hashSize+2*saltSize]
		validation, salt := check[hashSize:hashSize+saltSize], check[hashSize+saltSize:]
		if subtle.ConstantTimeCompare(l.hash(password, validation, user), check[:hashSize]) == 1 {
			return crypt(cipher.NewCBCDecrypter, l.hash(password, salt, user), key[:keySize])
		}
		user = check // part of the hash of the owner password
	}
	return nil, nil
}

// hash returns the hash of a password (algorithm 2.B). The argument user is the value of U for the owner password, and
// nil for the user password.
func (l *locked) hash(password string, salt, user []byte) []byte {
	first := sha256.Sum256(slices.Concat([]byte(password), salt, user))
	k := first[:]
	if l.revision == 5 {
		return k
	}
	for round := 1; ; round++ {
		e := bytes.Repeat(slices.Concat([]byte(password), k, user), 64)
		block, err := aes.NewCipher(k[:16])
		if err != nil {
			panic(err) // the key has 16 bytes
		}
		cipher.NewCBCEncrypter(block, k[16:32]).CryptBlocks(e, e)
		sum := 0 // the first 16 bytes as a number, modulo 3
		for _, b := range e[:16] {
			sum += int(b)
		}
		switch sum % 3 {
		case 0:
			h := sha256.Sum256(e)
			k = h[:]
		case 1:
			h := sha512.Sum384(e)
			k = h[:]
		default:
			h := sha512.Sum512(e)
			k = h[:]
		}
		if round >= 64 && int(e[len(e)-1]) <= round-32 {
			return k[:hashSize]
		}
	}
}

// crypt encrypts or decrypts a key of keySize bytes with another key.
func crypt(mode func(cipher.Block, []byte) cipher.BlockMode, with, key []byte) ([]byte, error) {
	block, err := aes.NewCipher(with)
	if err != nil {
		return nil, fmt.Errorf("decrypt the key: %w", err)
	}
	out := make([]byte, len(key))
	mode(block, make([]byte, aes.BlockSize)).CryptBlocks(out, key)
	return out, nil
}

// withoutPassword returns the file with an encryption dictionary in which the user password is empty. The key of the
// file stays the same.
func (l *locked) withoutPassword(r io.ReaderAt, key []byte) (io.ReaderAt, int64, error) {
	var salts [2 * saltSize]byte // zero, because salts protect only the password
	hash := l.hash("", salts[:saltSize], nil)
	encrypted, err := crypt(cipher.NewCBCEncrypter, hash, key)
	if err != nil {
		return nil, 0, err
	}
	d := l.dict.Clone()
	d.Set("U", pdf.AppendHex(nil, append(hash, salts[:]...)))
	d.Set("UE", pdf.AppendHex(nil, encrypted))
	with, size := l.withDictionary(r, d)
	return with, size, nil
}

// withDictionary returns the file with an appended encryption dictionary, which is an indirect object, as pdfcpu
// requires.
func (l *locked) withDictionary(r io.ReaderAt, d pdf.Dict) (io.ReaderAt, int64) {
	trailer := slices.DeleteFunc(l.f.Trailer().Clone(), func(e pdf.Entry) bool {
		return slices.Contains([]string{"Type", "W", "Index", "Length", "Filter", "DecodeParms", "XRefStm"}, e.Key)
	})
	size, _ := trailer.Get("Size").Int()
	ref := pdf.Ref{Num: int(size)}
	if l.ref != nil {
		ref = *l.ref
	}
	trailer.Set("Encrypt", ref.Value())
	trailer.Set("Size", fmt.Append(nil, max(size, int64(ref.Num)+1)))
	trailer.Set("Prev", fmt.Append(nil, l.f.StartXRef()))
	object := fmt.Sprintf("%d %d obj\n%s\nendobj\n", ref.Num, ref.Gen, d.Value())
	at := l.f.Size() + 1
	return seal.Concat(r, l.f.Size(), fmt.Appendf(nil, "\n%sxref\n%d 1\n%010d %05d n \ntrailer\n%s\nstartxref\n%d\n%%%%EOF\n",
		object, ref.Num, at, ref.Gen, trailer.Value(), at+int64(len(object))))
}
