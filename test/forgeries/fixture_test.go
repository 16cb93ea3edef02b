package forgeries_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gowebpki/jcs"

	"countersign/pdf"
	"countersign/seal"
	"countersign/seal/trust"
	"countersign/seal/verify"
)

// The times of the seal, of its two later time-stamps, and of the verification.
var (
	sealTime   = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	renewTime  = sealTime.AddDate(0, 0, 1)
	secondTime = sealTime.AddDate(0, 1, 0)
	judgeTime  = sealTime.AddDate(0, 3, 0)
)

// fakeIssuer is a service that seals documents, with the authorities on which it relies.
type fakeIssuer struct {
	network  *network
	sealRoot *identity
	tsaRoot  *identity
	sealer   *identity
	record   *ecdsa.PrivateKey
	now      time.Time
}

func newFakeIssuer() *fakeIssuer {
	h := &fakeIssuer{
		sealRoot: newRoot("Sealing root"), tsaRoot: newRoot("Time-stamp root"),
		record: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), now: sealTime,
	}
	h.network = &network{clock: func() time.Time { return h.now }, issuers: map[string]*identity{}, revoked: map[string]time.Time{}}
	for _, i := range []*identity{h.sealRoot, h.tsaRoot} {
		h.network.issuers[i.cert.SerialNumber.String()] = i
	}
	h.sealer = h.sealRoot.issue("Countersign", withOCSP(h.sealRoot, forSealing))
	h.network.tsa = h.tsaRoot.issue("Time-stamp authority", withCRL(h.tsaRoot, forStamping))
	return h
}

// trust returns verification options that trust the service's authorities.
func (h *fakeIssuer) trust() verify.Options {
	return h.trusting(trust.IssuedBy(h.sealRoot.cert, ""))
}

func (h *fakeIssuer) trusting(sealer trust.Sealer) verify.Options {
	return verify.Options{Now: func() time.Time { return judgeTime }, Trust: trust.Policy{
		Sealers: []trust.Sealer{sealer}, Stampers: h.tsaRoot.pool(), RecordKeys: map[string]trust.RecordKey{"k1": {Key: h.record.Public()}},
	}}
}

func (h *fakeIssuer) sealerOf(level level) *seal.Sealer {
	cfg := seal.Config{
		Signer: h.sealer.key, Chain: h.sealer.chain(), ManifestSigner: h.record, ManifestKeyID: "k1", ServiceName: "Countersign",
		Now: func() time.Time { return h.now }, Rand: rand.Reader,
	}
	if level != levelB {
		cfg.TSAURL, cfg.HTTPClient = "http://tsa.test/", h.network.client()
	}
	cfg.LongTerm = level == levelLT || level == levelLTA
	return must(seal.New(cfg))
}

// level is a PAdES level of a genuine file.
type level string

// The levels of files. The service never writes validation data without a time-stamp over it, so a file of level B-LT
// has one such increment. A file of level B-LTA has been renewed and has two.
const (
	levelB   level = "B-B"
	levelT   level = "B-T"
	levelLT  level = "B-LT"
	levelLTA level = "B-LTA"
)

var levels = []level{levelB, levelT, levelLT, levelLTA}

// genuine is a file sealed by an issuer, with its revisions.
type genuine struct {
	house    *fakeIssuer
	level    level
	original []byte
	sealed   []byte // the revision that the seal covers
	bytes    []byte
	job      seal.Job
}

// later returns the ranges of the increments after the seal.
func (g *genuine) later() []span {
	var out []span
	for at := len(g.sealed); at < len(g.bytes); {
		end := at + bytes.Index(g.bytes[at:], []byte("%%EOF\n")) + len("%%EOF\n")
		out = append(out, span{at, end})
		at = end
	}
	return out
}

type span struct{ from, to int }

// make returns an original that the service has sealed at the given level.
func (h *fakeIssuer) make(level level, original []byte, change ...func(*seal.Job)) *genuine {
	g, err := h.tryMake(level, original, change...)
	check(err)
	return g
}

func (h *fakeIssuer) tryMake(level level, original []byte, change ...func(*seal.Job)) (*genuine, error) {
	h.now = sealTime
	g := &genuine{house: h, level: level, original: original, job: newJob(original)}
	for _, f := range change {
		f(&g.job)
	}
	s := h.sealerOf(level)
	var err error
	g.bytes, err = intoFile(func(out *os.File) error {
		_, err := s.Seal(context.Background(), out, g.job)
		return err
	})
	if err != nil {
		return nil, err
	}
	g.sealed = g.bytes[:coveredBySeal(g.bytes, len(original))]
	if level == levelLTA {
		h.now = secondTime
		g.bytes, err = intoFile(func(out *os.File) error {
			_, err := h.sealerOf(level).Renew(context.Background(), bytes.NewReader(g.bytes), int64(len(g.bytes)), out)
			return err
		})
	}
	return g, err
}

// intoFile calls write with a temporary file, and returns the content of that file.
func intoFile(write func(out *os.File) error) ([]byte, error) {
	out, err := os.CreateTemp("", "forgery-*.pdf")
	if err != nil {
		return nil, err
	}
	defer func() { check(os.Remove(out.Name())) }()
	if err := write(out); err != nil {
		_ = out.Close()
		return nil, err
	}
	check(out.Close())
	return os.ReadFile(out.Name())
}

const (
	envelopeID = "3f0c1f6e-9f5d-4c4c-8b1f-2a6d0f3f7b11"
	documentID = "9a2f4c5e-0b1d-4b7a-9e55-6d1c2b3a4f50"
	otherID    = "7c4e2a10-1f3b-4d5c-8e6f-0a1b2c3d4e5f"
	adaID      = "b5a7a1de-6a53-4c1e-9f3b-0c8d2e4f6a10"
)

// auditChain returns events in the format of package models.
func auditChain(envelope string, events ...map[string]any) (list []json.RawMessage, head string) {
	head = strings.Repeat("0", 64)
	for i, e := range events {
		e["seq"], e["prevHash"], e["envelopeId"], e["id"] = i+1, head, envelope, fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1)
		delete(e, "hash")
		sum := sha256.Sum256(canonical(e))
		head = hex.EncodeToString(sum[:])
		e["hash"] = head
		list = append(list, canonical(e))
	}
	return list, head
}

func canonical(v any) []byte { return must(jcs.Transform(must(json.Marshal(v)))) }

// eventsOf returns the events of an envelope with the given signed documents.
func eventsOf(documents []seal.Document) []map[string]any {
	var list []map[string]any
	for i, name := range []string{"envelope.created", "document.added", "envelope.sent", "signer.viewed", "consent.given", "signer.signed"} {
		actor := "signer:" + adaID
		if i < 3 {
			actor = "app:demo"
		}
		list = append(list, map[string]any{
			"event": name, "actor": actor, "timestamp": sealTime.Add(time.Duration(i-9) * time.Minute).Format("2006-01-02T15:04:05.000000Z"),
			"ip": "203.0.113.7", "userAgent": nil, "detail": nil,
		})
	}
	var added []map[string]any
	for _, d := range documents {
		e := maps.Clone(list[1])
		e["detail"] = map[string]any{"documentId": d.ID, "sha256": d.SHA256, "order": d.Order, "pageCount": d.PageCount}
		added = append(added, e)
	}
	return slices.Replace(list, 1, 2, added...)
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// newJob returns a sealing job for an envelope with one document and one signer.
func newJob(original []byte) seal.Job {
	hash := hashOf(original)
	document := seal.Document{ID: documentID, Name: "agreement.pdf", SHA256: hash, Order: 1, PageCount: pagesOf(original)}
	events, head := auditChain(envelopeID, eventsOf([]seal.Document{document})...)
	return seal.Job{
		Original: bytes.NewReader(original), Size: int64(len(original)), OriginalSHA256: hash,
		Envelope: seal.Envelope{
			ID: envelopeID, TenantID: "acme", Subject: "Agreement", CreatedAt: sealTime.Add(-time.Hour), SentAt: sealTime.Add(-50 * time.Minute), OriginalHash: hash,
		},
		Document: document, Documents: []seal.Document{document},
		Values: []seal.Value{
			{FieldID: "f1", SignerID: adaID, Kind: seal.Text, Page: 1, X: 72, Y: 500, W: 200, H: 20, Text: "Ada Lovelace"},
			{FieldID: "f2", SignerID: adaID, Kind: seal.Checkbox, Page: 1, X: 300, Y: 500, W: 16, H: 16, Checked: true},
		},
		Signers: []seal.Signer{{
			ID: adaID, Name: "Ada Lovelace", Email: "ada@example.org", AuthMethod: "email_otp", ConsentAt: sealTime.Add(-5 * time.Minute), ConsentVersion: "2026-01",
			VerifiedAt: sealTime.Add(-6 * time.Minute), SignedAt: sealTime.Add(-4 * time.Minute), IP: "203.0.113.7", UserAgent: "Mozilla/5.0", Order: 1,
		}},
		Events: events, ChainHead: head, VerifyURL: "https://sign.example.org/verify/" + envelopeID, SealedAt: sealTime,
	}
}

func pagesOf(b []byte) int {
	f := must(pdf.Open(bytes.NewReader(b), int64(len(b)), pdf.DefaultLimits()))
	return must(f.Walk(func(*pdf.Page) error { return nil }))
}

// inEnvelope makes a job part of the given envelope, which contains the given documents.
func inEnvelope(j *seal.Job, envelope string, documents ...seal.Document) {
	j.Envelope.ID, j.Documents = envelope, documents
	hashes := ""
	for i := range documents {
		documents[i].Order = i + 1
		hashes += documents[i].SHA256
		if documents[i].SHA256 == j.OriginalSHA256 {
			j.Document = documents[i]
		}
	}
	j.Envelope.OriginalHash = hashes
	if len(documents) > 1 {
		j.Envelope.OriginalHash = hashOf([]byte(hashes))
	}
	j.Events, j.ChainHead = auditChain(envelope, eventsOf(documents)...)
}

// The service that most forgeries attack, and the files that it has sealed.
var (
	victim       = sync.OnceValue(newFakeIssuer)
	genuineFiles = sync.OnceValue(func() map[level]*genuine {
		out := map[level]*genuine{}
		for _, l := range levels {
			out[l] = victim().make(l, agreement())
		}
		return out
	})
)

func verified(b []byte, opt verify.Options) verify.Report {
	return must(verify.File(context.Background(), bytes.NewReader(b), int64(len(b)), opt))
}

func explain(r verify.Report) string {
	var b bytes.Buffer
	check(r.WriteText(&b))
	return b.String()
}

// victimless returns options that trust no certificate, which is sufficient to measure the cost of a verification.
func victimless() verify.Options {
	return verify.Options{Now: func() time.Time { return judgeTime }}
}

func verifyReader(r io.ReaderAt, size int64, opt verify.Options) (verify.Report, error) {
	return verify.File(context.Background(), r, size, opt)
}
