package forgeries_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The limits for verifying a hostile file.
const (
	maxProcessor = 10 * time.Second
	maxMemory    = 256 << 20
)

// costlyFile is a file whose verification would cost far more than its creation.
type costlyFile struct {
	name string
	make func() []byte
}

func costlyFiles() []costlyFile {
	// behind appends objects to a sealed file. The verifier reads them only because a signature by an unknown signer
	// follows.
	behind := func(name string, forge func(g *genuine) []byte) costlyFile {
		return costlyFile{name, func() []byte { return forge(genuineFiles()[levelLTA]) }}
	}
	// inside changes the content of a file that a forger has sealed with self-made keys.
	inside := func(name string, change func(inc *increment)) costlyFile {
		return costlyFile{name, func() []byte { return newFakeIssuer().make(levelB, agreement()).resealed(change) }}
	}
	padded := func(s string) string { return streamOf("/Filter/FlateDecode", s) }
	return []costlyFile{
		behind("inflated-evidence", func(g *genuine) []byte {
			return g.rearchived(func(inc *increment) {
				p := inc.find("/Certs")
				list := ""
				for range 40 {
					list += fmt.Sprintf(" %d 0 R", inc.add(padded(zeros(64<<20))))
				}
				p.body = with(p.body, "Certs", "["+list+"]")
			})
		}),
		behind("same-evidence-many-times", func(g *genuine) []byte {
			return g.rearchived(func(inc *increment) {
				n := inc.add(padded(zeros(32 << 20)))
				p := inc.find("/Certs")
				p.body = with(p.body, "CRLs", "["+strings.Repeat(fmt.Sprintf(" %d 0 R", n), 250)+"]")
			})
		}),
		behind("long-tail", func(g *genuine) []byte {
			return append(bytes.Clone(g.bytes), bytes.Repeat([]byte("5 0 obj\n<<>>\nendobj\nstartxref\n0\n%%EOF\n"), 1_000_000)...)
		}),
		behind("many-signatures", func(g *genuine) []byte {
			h := holes(g.bytes, len(g.original))[0]
			text := g.bytes[h.object-3 : h.from+30]
			return append(bytes.Clone(g.bytes), bytes.Repeat(append(bytes.Clone(text), ">>\nendobj\n"...), 20_000)...)
		}),
		behind("many-seals", func(g *genuine) []byte { return bytes.Repeat(g.bytes, 150) }),
		behind("many-sections", func(g *genuine) []byte {
			b := bytes.Clone(g.bytes)
			for range 2000 {
				b = after(b).table(lastXRef(b[max(0, len(b)-2000):]), "/Root 1 0 R")
			}
			return b
		}),
		behind("huge-subsection", func(g *genuine) []byte {
			at := len(g.bytes)
			return fmt.Appendf(bytes.Clone(g.bytes), "xref\n0 2000000000\ntrailer\n<</Size 2000000001/Root 1 0 R/Prev %d>>\nstartxref\n%d\n%%%%EOF\n", lastXRef(g.bytes), at)
		}),
		behind("wide-cross-reference-stream", func(g *genuine) []byte {
			return withSection(g.bytes, "/W[1 2000000000 2000000000]/Index[0 1000000]", zeros(64<<20))
		}),
		behind("narrow-cross-reference-stream", func(g *genuine) []byte { return withSection(g.bytes, "/W[0 0 0]/Index[0 8000000]", "") }),
		behind("many-indexes", func(g *genuine) []byte {
			return withSection(g.bytes, "/W[1 4 1]/Index["+strings.Repeat("0 1 ", 500_000)+"]", zeros(8<<20))
		}),
		behind("deep-nesting", func(g *genuine) []byte {
			return update(g.bytes, map[int]string{objCatalog: "<</A " + strings.Repeat("[", 2_000_000)})
		}),
		behind("nested-token", func(g *genuine) []byte { return g.rearchivedHole(nestedBER(maxHole)) }),
		inside("deep-signature", func(inc *increment) {
			p := inc.find("/ByteRange")
			p.body = strings.Replace(p.body, "/Contents<", "/Contents<"+strings.Repeat("0", 4<<20), 1)
		}),
		inside("inflated-record", func(inc *increment) {
			inc.find("jose+json").body = strings.Replace(padded(zeros(1<<30)), "<<", "<</Type/EmbeddedFile/Subtype/application#2Fjose+json", 1)
		}),
		inside("long-record", func(inc *increment) {
			inc.find("jose+json").body = strings.Replace(padded(deflated(`{"payload":"`+strings.Repeat("A", 60<<20)+`"}`)), "<<", "<</Type/EmbeddedFile/Subtype/application#2Fjose+json", 1)
		}),
		inside("nested-record", func(inc *increment) {
			inc.find("jose+json").body = strings.Replace(padded(deflated(strings.Repeat("[", 20<<20))), "<<", "<</Type/EmbeddedFile/Subtype/application#2Fjose+json", 1)
		}),
		inside("page-tree-of-itself", func(inc *increment) {
			inc.number(objPages).body = "<</Type/Pages/Kids[" + strings.Repeat("2 0 R ", 10_000) + "]/Count 10000>>"
		}),
		inside("page-tree-doubling", func(inc *increment) {
			next := inc.highest() + 1
			inc.number(objPages).body = fmt.Sprintf("<</Type/Pages/Kids[%d 0 R %d 0 R]/Count 2>>", next, next)
			for i := range 40 {
				inc.add(fmt.Sprintf("<</Type/Pages/Kids[%d 0 R %d 0 R]/Count 2>>", next+i+1, next+i+1))
			}
			inc.add("<</Type/Pages/Kids[4 0 R]/Count 1>>")
		}),
		inside("many-fields", func(inc *increment) {
			n := inc.highest()
			c := inc.number(objCatalog)
			c.body = with(c.body, "AcroForm", "<</Fields["+strings.Repeat(fmt.Sprintf("%d 0 R ", n), 200_000)+"]>>")
		}),
		inside("name-tree-leaf-many-times", func(inc *increment) {
			leaf := inc.add("<</Names[" + strings.Repeat("(a) 5 0 R ", 20_000) + "]>>")
			c := inc.number(objCatalog)
			c.body = with(c.body, "Names", "<</EmbeddedFiles<</Kids["+strings.Repeat(fmt.Sprintf("%d 0 R ", leaf), 5_000)+"]>>>>")
		}),
		{"foreign-signatures", func() []byte {
			d := newDraft()
			d.catalog = "/AcroForm<</Fields[" + strings.Repeat("50 0 R ", 50_000) + "]>>"
			d.objects[50] = "<</FT/Sig/T(x)/V 51 0 R/Kids[50 0 R]>>"
			d.objects[51] = "<</Type/Sig/SubFilter/adbe.pkcs7.detached/ByteRange[0 1 2 3]/Contents<" + strings.Repeat("30800", 800_000) + ">>>"
			return d.bytes()
		}},
		{"many-foreign-signatures", func() []byte {
			d := newDraft()
			fields := ""
			big := strings.Repeat("3080", 2_000)
			for i := range 4_000 {
				fields += fmt.Sprintf("%d 0 R ", 100+2*i)
				d.objects[100+2*i] = fmt.Sprintf("<</FT/Sig/T(x)/V %d 0 R>>", 101+2*i)
				d.objects[101+2*i] = "<</Type/Sig/SubFilter/adbe.pkcs7.detached/ByteRange[0 1 2 3]/Contents<" + big + ">>>"
			}
			d.catalog = "/AcroForm<</Fields[" + fields + "]>>"
			return d.bytes()
		}},
		{"nothing-but-starts", func() []byte {
			return append([]byte("%PDF-1.7\n"), bytes.Repeat([]byte("startxref\n9\n%%EOF\n"), 1_000_000)...)
		}},
		// This file is not hostile, but contains the maximum number of time-stamps, each of which covers all bytes
		// before it.
		{"many-renewals", func() []byte { return renewedFile(20, 0) }},
		// The validation data is valid. It consists of the revocation lists of a busy authority, about 13 MB in total.
		{"much-evidence", func() []byte { return renewedFile(8, 40_000) }},
	}
}

// renewedFile returns a file that was renewed the given number of times. Each revocation list contains the given number
// of other certificates.
func renewedFile(times, others int) []byte {
	h := newFakeIssuerLike(victim())
	h.network.others = others
	b := h.make(levelLT, agreement()).bytes
	for i := range times {
		h.now = sealTime.AddDate(0, 0, i+1)
		b = must(intoFile(func(out *os.File) error {
			_, err := h.sealerOf(levelT).Renew(context.Background(), bytes.NewReader(b), int64(len(b)), out)
			return err
		}))
	}
	return b
}

const maxHole = 16 << 10

// rearchivedHole replaces the last time-stamp.
func (g *genuine) rearchivedHole(der []byte) []byte {
	list := holes(g.bytes, len(g.original))
	h := list[len(list)-1]
	return h.put(g.bytes, der)
}

// nestedBER returns nested sequences of indefinite length, of the given size in bytes.
func nestedBER(size int) []byte { return bytes.Repeat([]byte{0x30, 0x80}, size/2) }

// zeros returns n compressed zero bytes, where n is a whole number of megabytes. The same compressed block is
// repeated.
func zeros(n int) string {
	const block = 1 << 20
	var b bytes.Buffer
	w := must(zlib.NewWriterLevel(&b, zlib.BestCompression))
	var ends []int
	for range 2 {
		must(w.Write(make([]byte, block)))
		check(w.Flush())
		ends = append(ends, b.Len())
	}
	out := bytes.Clone(b.Bytes()[:ends[0]])
	for range n/block - 1 {
		out = append(out, b.Bytes()[ends[0]:ends[1]]...)
	}
	out = append(out, 1, 0, 0, 0xff, 0xff)                                   // an empty final block
	return string(binary.BigEndian.AppendUint32(out, uint32(n%65521)<<16|1)) // Adler-32
}

func deflated(s string) string {
	var b bytes.Buffer
	w := must(zlib.NewWriterLevel(&b, zlib.BestCompression))
	must(w.Write([]byte(s)))
	check(w.Close())
	return b.String()
}

// withSection appends a cross-reference stream.
func withSection(b []byte, entries, data string) []byte {
	w := after(b)
	at := len(w.b)
	return w.object(5000, 0, streamOf(fmt.Sprintf("/Type/XRef%s/Size 6000/Root 1 0 R/Prev %d/Filter/FlateDecode", entries, lastXRef(b)), data)).
		text(fmt.Sprintf("startxref\n%d\n%%%%EOF\n", at)).b
}

const costFile = "COUNTERSIGN_TEST_COST_FILE"

// TestCost verifies each costly file in a separate process, and measures that process.
func TestCost(t *testing.T) {
	t.Parallel()
	if file := os.Getenv(costFile); file != "" { // in the separate process
		verdict := verifyFile(file)
		peak := regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(must(os.ReadFile("/proc/self/status")))
		fmt.Printf("verdict %s\n%s kB\n", verdict, peak[1])
		return
	}
	genuineFiles()
	for _, b := range costlyFiles() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "bomb.pdf")
			made := b.make()
			require.NoError(t, os.WriteFile(file, made, 0o600))
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestCost$")
			cmd.Env = append(os.Environ(), costFile+"="+file)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%.2000s", out)
			lines := strings.Fields(string(out))
			require.Greater(t, len(lines), 3, "%s", out)
			verdict := lines[1]
			processor := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			memory := must(strconv.Atoi(lines[2])) << 10
			t.Logf("%d bytes: %s, %v, %d MB", len(made), verdict, processor.Round(time.Millisecond), memory>>20)
			assert.Less(t, processor, maxProcessor)
			assert.Less(t, memory, maxMemory)
			// Even a genuine file is not valid in the other process, which uses a different issuer.
			assert.NotEqual(t, string(valid), verdict)
		})
	}
}

func verifyFile(name string) string {
	f := must(os.Open(name))
	defer func() { check(f.Close()) }()
	size := must(f.Stat()).Size()
	return string(must(verifyReader(f, size, victimless())).Verdict)
}
