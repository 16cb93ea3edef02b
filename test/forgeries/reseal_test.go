package forgeries_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// increment is a parsed increment that the service has written.
type increment struct {
	lead    []byte // bytes before the first object
	parts   []part
	trailer string // trailer dictionary
}

type part struct {
	number, generation int
	body               string
}

// takeApart parses the increment that begins at the given offset of b and extends to the end of b. It must end with a
// cross-reference table.
func takeApart(b []byte, from int) *increment {
	at := lastXRef(b)
	table, rest, _ := strings.Cut(string(b[at:]), "trailer\n")
	trailer, _, _ := strings.Cut(rest, "\nstartxref")
	lines := strings.FieldsFunc(strings.TrimPrefix(table, "xref\n"), func(r rune) bool { return r == '\r' || r == '\n' })
	inc := &increment{trailer: trailer}
	var entries []place
	for i := 0; i < len(lines); {
		var first, count int
		must(fmt.Sscanf(lines[i], "%d %d", &first, &count))
		i++
		for n := range count {
			var offset, generation int
			must(fmt.Sscanf(lines[i], "%d %d", &offset, &generation))
			if lines[i][17] == 'n' {
				entries = append(entries, place{first + n, generation, offset})
			}
			i++
		}
	}
	slices.SortFunc(entries, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	inc.lead = b[from:entries[0].at]
	for i, e := range entries {
		end := at
		if i+1 < len(entries) {
			end = entries[i+1].at
		}
		body := strings.TrimPrefix(string(b[e.at:end]), fmt.Sprintf("%d %d obj\n", e.number, e.generation))
		inc.parts = append(inc.parts, part{e.number, e.generation, strings.TrimSuffix(body, "\nendobj\n")})
	}
	return inc
}

// find returns the only object that contains all of the given strings, ignoring white space.
func (inc *increment) find(texts ...string) *part {
	var found *part
	for i := range inc.parts {
		p := &inc.parts[i]
		all := true
		for _, s := range texts {
			all = all && strings.Contains(strings.ReplaceAll(p.body, " ", ""), strings.ReplaceAll(s, " ", ""))
		}
		if all {
			if found != nil {
				panic(fmt.Sprintf("objects %d and %d contain %q", found.number, p.number, texts))
			}
			found = p
		}
	}
	if found == nil {
		panic(fmt.Sprintf("no object contains %q", texts))
	}
	return found
}

// number returns the object with the given number, or nil if it does not exist.
func (inc *increment) number(number int) *part {
	for i := range inc.parts {
		if inc.parts[i].number == number {
			return &inc.parts[i]
		}
	}
	return nil
}

func (inc *increment) highest() int {
	n := 0
	for _, p := range inc.parts {
		n = max(n, p.number)
	}
	return n
}

// add adds an object with a new number, and updates Size accordingly.
func (inc *increment) add(body string) int {
	n := max(inc.highest()+1, must(strconv.Atoi(entry(inc.trailer, "Size"))))
	inc.parts = append(inc.parts, part{n, 0, body})
	inc.trailer = with(inc.trailer, "Size", strconv.Itoa(n+1))
	return n
}

// write returns base with the increment appended. It sets new offsets and the byte range of the signature, and fills
// the signature with zeros.
func (inc *increment) write(base []byte) []byte {
	w := &writer{b: slices.Concat(base, inc.lead)}
	for _, p := range inc.parts {
		w.object(p.number, p.generation, p.body)
	}
	slices.SortFunc(w.entries, func(a, b place) int { return cmp.Compare(a.number, b.number) })
	at := len(w.b)
	w.text("xref\n")
	for i := 0; i < len(w.entries); {
		j := i + 1
		for j < len(w.entries) && w.entries[j].number == w.entries[j-1].number+1 {
			j++
		}
		w.text(fmt.Sprintf("%d %d\n", w.entries[i].number, j-i))
		for _, e := range w.entries[i:j] {
			w.text(fmt.Sprintf("%010d %05d n\r\n", e.at, e.generation))
		}
		i = j
	}
	w.text(fmt.Sprintf("trailer\n%s\nstartxref\n%d\n%%%%EOF\n", inc.trailer, at))
	if all := holes(w.b, len(base)); len(all) > 0 {
		fillRange(w.b, all[0], len(w.b))
	}
	return w.b
}

// fillRange writes the byte range of a signature that covers the first end bytes of the file. It fills the signature's
// Contents with zeros.
func fillRange(b []byte, h hole, end int) {
	numbers := fmt.Sprintf("%d %d %d", h.from, h.to, end-h.to)
	copy(b[h.rangeFrom:h.rangeTo], numbers+strings.Repeat(" ", h.rangeTo-h.rangeFrom-len(numbers)))
	for i := h.from + 1; i < h.to-1; i++ {
		b[i] = '0'
	}
}

// digest returns the digest of the bytes that a signature covers.
func (h hole) digest(b []byte) [sha256.Size]byte {
	end := len(b)
	if h.end != 0 && h.end < end {
		end = h.end
	}
	sum := sha256.New()
	sum.Write(b[:h.from])
	sum.Write(b[h.to:end])
	return [sha256.Size]byte(sum.Sum(nil))
}

// put returns a copy of b with a different signature value.
func (h hole) put(b, der []byte) []byte {
	if 2*len(der) > h.to-h.from-2 {
		panic("the signature does not fit")
	}
	out := bytes.Clone(b)
	for i := h.from + 1; i < h.to-1; i++ {
		out[i] = '0'
	}
	hex.Encode(out[h.from+1:], der)
	return out
}

func (h hole) value(b []byte) []byte {
	der := must(hex.DecodeString(string(b[h.from+1 : h.to-1])))
	return parseDER(der).encode()
}

// seal signs a file that ends with an unsigned sealing increment, as the service would. The signature has a
// time-stamp at every level except the lowest.
func (h *fakeIssuer) seal(b []byte, from int, l level) []byte {
	place := holes(b, from)[0]
	// The signature dictionary contains a hash of the certificates.
	sum := sha256.New()
	for _, c := range h.sealer.chain() {
		sum.Write(c.Raw)
	}
	if i := bytes.Index(b[place.object:], []byte("/Chain<")); i >= 0 {
		copy(b[place.object+i+len("/Chain<"):], strings.ToUpper(hex.EncodeToString(sum.Sum(nil))))
	}
	digest := place.digest(b)
	s := &signature{contentType: oidData, digest: digest[:], signer: h.sealer}
	for _, c := range h.sealer.chain() {
		s.certificates = append(s.certificates, c.Raw)
	}
	if l != levelB {
		s.stamp = func(value []byte) []byte {
			sum := sha256.Sum256(value)
			return h.network.newToken(sum[:]).encode()
		}
	}
	return place.put(b, s.encode())
}

// stampDocument fills in the document time-stamp in the file's last increment.
func (h *fakeIssuer) stampDocument(b []byte, from int, change ...func(*token)) []byte {
	place := holes(b, from)[0]
	made := func(digest []byte) *token {
		t := h.network.newToken(digest)
		for _, f := range change {
			f(t)
		}
		return t
	}
	// The dictionary contains a hash of the certificates above the token's own certificate.
	sum := sha256.New()
	for _, c := range made(nil).certificates[1:] {
		sum.Write(c)
	}
	if i := bytes.Index(b[place.object:], []byte("/Issuers<")); i >= 0 {
		copy(b[place.object+i+len("/Issuers<"):], strings.ToUpper(hex.EncodeToString(sum.Sum(nil))))
	}
	digest := place.digest(b)
	return place.put(b, made(digest[:]).encode())
}

// resealed changes the increment that the seal covers, signs it with the service's key, and adds the data that the
// level requires. A forger would need the service's keys to do this.
func (g *genuine) resealed(change func(inc *increment)) []byte {
	inc := takeApart(g.sealed, len(g.original))
	change(inc)
	h := newFakeIssuerLike(g.house)
	h.now = sealTime
	b := h.seal(inc.write(g.original), len(g.original), g.level)
	return g.replayed(b)
}

// replayed appends the later increments of the genuine file to another sealed revision, with adjusted offsets and new
// time-stamps.
func (g *genuine) replayed(b []byte) []byte {
	for i, s := range g.later() {
		inc := takeApart(g.bytes[:s.to], s.from)
		from := len(b)
		inc.trailer = with(inc.trailer, "Prev", strconv.Itoa(lastXRef(b)))
		h := newFakeIssuerLike(g.house)
		h.now = stampTimes[i]
		b = h.stampDocument(inc.write(b), from)
	}
	return b
}

var stampTimes = []time.Time{sealTime, secondTime}
