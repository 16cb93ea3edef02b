package forgeries_test

import (
	"bytes"
	"compress/zlib"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"countersign/pdf"
	"countersign/seal"
)

// recordForgeries returns forged records that are signed with the service's keys and sealed with its certificate.
// They could result from a mistake in the service or from an intrusion.
func recordForgeries() []forgery {
	const class = "forged records"
	withRecord := func(name string, says string, change func(g *genuine, r *jws)) forgery {
		f := forgery{name: "record-" + name, class: class, want: broken, shows: recordSays(says)}
		f.make = func(g *genuine) []byte {
			return g.resealed(func(inc *increment) {
				p := inc.find("jose+json")
				r := readJWS(p.body)
				change(g, r)
				p.body = r.write(p.body)
			})
		}
		return f
	}
	payload := func(name, says string, change func(g *genuine, m map[string]any)) forgery {
		return withRecord(name, says, func(g *genuine, r *jws) {
			var m map[string]any
			check(json.Unmarshal(r.payload, &m))
			change(g, m)
			r.payload = must(json.Marshal(m))
			r.sign(g.house.record)
		})
	}
	events := func(name, says string, change func(list []map[string]any) (any, string)) forgery {
		return payload(name, says, func(_ *genuine, m map[string]any) {
			audit := m["audit"].(map[string]any)
			var list []map[string]any
			for _, e := range audit["events"].([]any) {
				list = append(list, e.(map[string]any))
			}
			audit["events"], audit["head"] = change(list)
		})
	}
	object := func(m map[string]any, key string) map[string]any { return m[key].(map[string]any) }
	rehash := func(e map[string]any) string {
		delete(e, "hash")
		e["hash"] = hashOf(canonical(e))
		return e["hash"].(string)
	}
	// mark changes the entries of the signature dictionary that describe the record and the original.
	mark := func(name string, change func(g *genuine, dictionary string) string) forgery {
		return forgery{name: "mark-" + name, class: class, want: broken, shows: nothing("the seal's own description is false"), make: func(g *genuine) []byte {
			return g.resealed(func(inc *increment) {
				p := inc.find("/ByteRange")
				changed := change(g, p.body)
				if changed == p.body {
					panic("nothing was changed")
				}
				p.body = changed
			})
		}}
	}
	swap := func(expression, replacement string) func(*genuine, string) string {
		return func(_ *genuine, s string) string {
			return regexp.MustCompile(expression).ReplaceAllString(s, replacement)
		}
	}
	return []forgery{
		mark("record-in-original", swap(`/Record \d+ 0 R`, "/Record 5 0 R")),
		mark("record-nowhere", swap(`/Record \d+ 0 R`, "/Record 4999 0 R")),
		mark("record-of-another-generation", swap(`/Record (\d+) 0 R`, "/Record $1 1 R")),
		mark("shorter-original", swap(`/Original\[0 \d+\]`, "/Original[0 64]")),
		mark("longer-original", func(g *genuine, s string) string {
			return strings.Replace(s, fmt.Sprintf("/Original[0 %d]", len(g.original)), fmt.Sprintf("/Original[0 %d]", len(g.original)+9), 1)
		}),
		mark("shifted-original", swap(`/Original\[0 `, "/Original[1 ")),
		mark("empty-original", swap(`/Original\[0 \d+\]`, "/Original[0 0]")),
		mark("version", swap(`_Seal<</V 1`, "_Seal<</V 2")),
		mark("twice", swap(`(/CSGN_Seal<<.*>>\n)`, "$1$1")),
		mark("key-twice", swap(`/Stamp/(\w+)`, "/Stamp/$1/Stamp/None")),
		mark("contents-twice", swap(`/ByteRange`, "/Contents<00>/ByteRange")),
		mark("byte-range-twice", swap(`(/ByteRange\[0 )`, "/ByteRange[0 0 0 0]$1")),
		mark("loosened-permissions", swap(`/P 1>>`, "/P 3>>")),
		mark("filter", swap(`Adobe.PPKLite`, "Adobe.PPKMS")),
		{
			name: "mark-of-a-required-stamp-without-one", class: class, levels: []level{levelB}, want: broken, shows: nothing("the proof of the time is missing"),
			make: func(g *genuine) []byte {
				return g.resealed(func(inc *increment) {
					p := inc.find("/ByteRange")
					p.body = strings.Replace(p.body, "/Stamp/None", "/Stamp/Required", 1)
				})
			},
		},
		{
			name: "mark-of-no-stamp-with-one", class: class, levels: []level{levelT, levelLT, levelLTA}, want: broken, shows: nothing("a time-stamp that the service did not request"),
			make: func(g *genuine) []byte {
				return g.resealed(func(inc *increment) {
					p := inc.find("/ByteRange")
					p.body = strings.Replace(p.body, "/Stamp/Required", "/Stamp/None", 1)
				})
			},
		},
		{
			name: "mark-record-key-in-catalog-only", class: class, want: broken, shows: recordSays("Agreement"),
			make: func(g *genuine) []byte {
				// The attachment that PDF programs display is valid, but the seal refers to another object.
				return g.resealed(func(inc *increment) {
					n := inc.add(streamOf("/Type/EmbeddedFile", "{}"))
					p := inc.find("/ByteRange")
					p.body = regexp.MustCompile(`/Record \d+ 0 R`).ReplaceAllString(p.body, fmt.Sprintf("/Record %d 0 R", n))
				})
			},
		},
		{
			name: "mark-second-seal-inside", class: class, want: broken, shows: nothing("two signatures that could be the seal"),
			make: func(g *genuine) []byte {
				return g.resealed(func(inc *increment) {
					for _, p := range inc.parts {
						if strings.Contains(p.body, "/Perms") {
							inc.number(p.number).body = with(p.body, "Perms", "<<>>")
						}
					}
				})
			},
		},
		events("previous-hash", "signer.signed", func(list []map[string]any) (any, string) {
			last := list[len(list)-1]
			last["prevHash"] = strings.Repeat("ab", 32)
			return list, rehash(last)
		}),
		events("event-changed", "198.51.100.99", func(list []map[string]any) (any, string) {
			list[3]["ip"] = "198.51.100.99"
			return list, list[len(list)-1]["hash"].(string)
		}),
		events("event-removed", "signer.signed", func(list []map[string]any) (any, string) {
			head := list[len(list)-1]["hash"].(string)
			return slices.Delete(list, 3, 4), head
		}),
		events("event-of-another-envelope", otherID, func(list []map[string]any) (any, string) {
			last := list[len(list)-1]
			last["envelopeId"] = otherID
			return list, rehash(last)
		}),
		events("head-of-another-chain", "signer.signed", func(list []map[string]any) (any, string) { return list, strings.Repeat("cd", 32) }),
		events("empty-chain", `"events":[]`, func([]map[string]any) (any, string) { return []any{}, strings.Repeat("0", 64) }),
		events("no-chain", `"events":null`, func([]map[string]any) (any, string) { return nil, strings.Repeat("0", 64) }),
		events("short-chain", "document.added", func(list []map[string]any) (any, string) { return list[:2], list[1]["hash"].(string) }),
		events("chain-without-signature", "consent.given", func(list []map[string]any) (any, string) { return list[:5], list[4]["hash"].(string) }),
		payload("envelope-of-another", otherID, func(_ *genuine, m map[string]any) { object(m, "envelope")["id"] = otherID }),
		payload("type", "another-seal", func(_ *genuine, m map[string]any) { m["type"] = "another-seal" }),
		payload("version", `"version":99`, func(_ *genuine, m map[string]any) { m["version"] = 99 }),
		payload("document-not-listed", otherID, func(_ *genuine, m map[string]any) { m["documentId"] = otherID }),
		payload("no-documents", `"documents":[]`, func(_ *genuine, m map[string]any) { m["documents"] = []any{} }),
		payload("document-twice", documentID, func(_ *genuine, m map[string]any) {
			list := m["documents"].([]any)
			m["documents"] = append(list, list[0])
		}),
		payload("document-hash-contradicts", strings.Repeat("ef", 32), func(_ *genuine, m map[string]any) {
			m["documents"].([]any)[0].(map[string]any)["sha256"] = strings.Repeat("ef", 32)
		}),
		payload("original-of-another-hash", strings.Repeat("ef", 32), func(_ *genuine, m map[string]any) {
			object(m, "original")["sha256"] = strings.Repeat("ef", 32)
			m["documents"].([]any)[0].(map[string]any)["sha256"] = strings.Repeat("ef", 32)
		}),
		payload("shorter-original", `"size":64`, func(g *genuine, m map[string]any) {
			object(m, "original")["sha256"], object(m, "original")["size"] = hashOf(g.original[:64]), 64
			m["documents"].([]any)[0].(map[string]any)["sha256"] = hashOf(g.original[:64])
		}),
		payload("original-said-to-be-embedded", "embedded", func(_ *genuine, m map[string]any) { object(m, "original")["as"] = "embedded" }),
		payload("original-placed-nowhere", "nowhere", func(_ *genuine, m map[string]any) { object(m, "original")["as"] = "nowhere" }),
		withRecord("signed-by-another-key", "Agreement", func(_ *genuine, r *jws) { r.sign(newRoot("x").key) }),
		withRecord("key-of-another-in-header", "Agreement", func(_ *genuine, r *jws) {
			key := newRoot("x").key
			point := must(key.PublicKey.Bytes())
			r.header["jwk"].(map[string]any)["x"] = base64.RawURLEncoding.EncodeToString(point[1:33])
			r.header["jwk"].(map[string]any)["y"] = base64.RawURLEncoding.EncodeToString(point[33:])
			r.sign(key)
		}),
		withRecord("algorithm-none", "Agreement", func(_ *genuine, r *jws) {
			r.header["alg"] = "none"
			r.signature = nil
		}),
		withRecord("critical-extension", "Agreement", func(g *genuine, r *jws) {
			r.header["crit"] = []string{"exp"}
			r.header["exp"] = 1
			r.sign(g.house.record)
		}),
		withRecord("envelope-key-twice", "Mallory", func(g *genuine, r *jws) {
			r.payload = append([]byte(`{"envelope":{"id":"`+envelopeID+`","subject":"Mallory"},`), r.payload[1:]...)
			r.sign(g.house.record)
		}),
		withRecord("envelope-key-in-capitals", "Mallory", func(g *genuine, r *jws) {
			r.payload = append(r.payload[:len(r.payload)-1], []byte(`,"ENVELOPE":{"id":"`+envelopeID+`","subject":"Mallory"}}`)...)
			r.sign(g.house.record)
		}),
		withRecord("bytes-behind", "Agreement", func(_ *genuine, r *jws) { r.behind = `{"payload":"x"}` }),
		{
			name: "record-missing", class: class, want: broken, shows: nothing("the record of the signers is missing"), make: func(g *genuine) []byte {
				return g.resealed(func(inc *increment) { inc.find("jose+json").body = streamOf("/Type/EmbeddedFile", "") })
			},
		},
		{
			name: "record-transplanted", class: class, want: broken, shows: recordSays(envelopeID),
			original: func() []byte { return append(agreement(), longer()...) },
			make: func(g *genuine) []byte {
				// The record is genuine, but belongs to an envelope whose original is a prefix of this one.
				donor := newFakeIssuerLike(g.house).make(g.level, agreement())
				record := takeApart(donor.sealed, len(donor.original)).find("jose+json").body
				return g.resealed(func(inc *increment) { inc.find("jose+json").body = record })
			},
		},
		{
			name: "record-of-another-document", class: class, want: broken, shows: recordSays(otherID),
			make: func(g *genuine) []byte {
				donor := newFakeIssuerLike(g.house).make(g.level, filledForm(), func(j *seal.Job) {
					own := j.Document
					own.ID = otherID
					inEnvelope(j, envelopeID, seal.Document{ID: documentID, SHA256: hashOf(g.original), PageCount: 2}, own)
				})
				record := takeApart(donor.sealed, len(donor.original)).find("jose+json").body
				return g.resealed(func(inc *increment) { inc.find("jose+json").body = record })
			},
		},
	}
}

// longer returns an update that can be appended to the agreement.
func longer() []byte {
	b := agreement()
	return update(b, map[int]string{objContent: textStream("Ada pays 500 euros to Jomo")})[len(b):]
}

// jws is a parsed record.
type jws struct {
	header    map[string]any
	payload   []byte
	signature []byte
	behind    string
}

func readJWS(body string) *jws {
	_, data, _ := strings.Cut(body, "\nstream\n")
	data = strings.TrimSuffix(data, "\nendstream")
	if strings.Contains(body[:200], "/FlateDecode") {
		data = string(must(io.ReadAll(must(zlib.NewReader(strings.NewReader(data))))))
	}
	return parseJWS([]byte(data))
}

func parseJWS(b []byte) *jws {
	var j map[string]string
	check(json.NewDecoder(bytes.NewReader(b)).Decode(&j))
	r := &jws{payload: must(base64.RawURLEncoding.DecodeString(j["payload"])), signature: must(base64.RawURLEncoding.DecodeString(j["signature"]))}
	check(json.Unmarshal(must(base64.RawURLEncoding.DecodeString(j["protected"])), &r.header))
	return r
}

func (r *jws) protected() string {
	return base64.RawURLEncoding.EncodeToString(must(json.Marshal(r.header)))
}

func (r *jws) sign(key *ecdsa.PrivateKey) {
	sum := sha256.Sum256([]byte(r.protected() + "." + base64.RawURLEncoding.EncodeToString(r.payload)))
	var v ecdsaValue
	must(asn1.Unmarshal(lowS(must(ecdsa.SignASN1(rand.Reader, key, sum[:]))), &v))
	r.signature = slices.Concat(v.R.FillBytes(make([]byte, 32)), v.S.FillBytes(make([]byte, 32)))
}

// write writes the record to its stream, and retains the stream's dictionary.
func (r *jws) write(body string) string {
	b64 := base64.RawURLEncoding
	b := fmt.Appendf(nil, "{\n  \"payload\": %q,\n  \"protected\": %q,\n  \"signature\": %q\n}", b64.EncodeToString(r.payload), r.protected(), b64.EncodeToString(r.signature))
	b = append(b, r.behind...)
	z := pdf.Deflate(b)
	dict, _, _ := strings.Cut(body, "\nstream\n")
	dict = with(with(dict, "Filter", "/FlateDecode"), "Length", fmt.Sprint(len(z)))
	params := with(entry(dict, "Params"), "Size", fmt.Sprint(len(b)))
	return with(dict, "Params", params) + "\nstream\n" + string(z) + "\nendstream"
}

// recordSays checks that the record, as extracted by PDF programs, contains the given string.
func recordSays(want string) effect {
	return effect{"pdfdetach", func(dir string, _ *genuine, b []byte) error {
		run(dir, "pdfdetach", "-saveall", "-o", dir, saved(dir, b))
		record, err := os.ReadFile(filepath.Join(dir, "seal.json"))
		if err != nil {
			return err
		}
		if payload := parseJWS(record).payload; !strings.Contains(string(payload), want) {
			return errors.New("the record says " + string(payload))
		}
		return nil
	}}
}
