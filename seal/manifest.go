package seal

import (
	"encoding/hex"
	"encoding/json"
	"time"

	"countersign/seal/manifest"
)

func newManifest(job *Job, service string) manifest.Manifest {
	m := manifest.Manifest{
		Type: manifest.Type, Version: 1, Service: service, SealedAt: job.SealedAt.UTC(), Document: job.Document.ID,
		Envelope: manifest.Envelope{
			ID: job.Envelope.ID, TenantID: job.Envelope.TenantID, Sender: job.Envelope.Sender, Subject: job.Envelope.Subject,
			CreatedAt: timeOf(job.Envelope.CreatedAt), SentAt: timeOf(job.Envelope.SentAt), OriginalHash: job.Envelope.OriginalHash,
		},
		Audit:    manifest.Audit{Head: job.ChainHead, Events: job.Events},
		Verify:   job.VerifyURL,
		Original: manifest.Placement{SHA256: job.OriginalSHA256, Size: job.Size, As: "prefix"},
		All:      append([]manifest.File{}, job.Documents...), Signers: []manifest.Signer{}, Values: []manifest.Value{},
	}
	if p := job.Prepared; p != nil {
		m.Original.Size = p.UploadSize
		if p.As == manifest.Rewritten {
			m.Original.As = "attached"
		}
		own := p.Prepared
		m.Original.Prepared = &own
	}
	if m.Audit.Events == nil {
		m.Audit.Events = []json.RawMessage{}
	}
	for _, s := range job.Signers {
		m.Signers = append(m.Signers, manifest.Signer{
			ID: s.ID, Name: s.Name, Email: s.Email, AuthMethod: s.AuthMethod, RoutingOrder: s.Order, VerifiedAt: timeOf(s.VerifiedAt),
			ConsentAt: timeOf(s.ConsentAt), ConsentVersion: s.ConsentVersion, SignedAt: timeOf(s.SignedAt), IP: s.IP, Shown: manifestShown(s.Shown), Previous: s.Previous, Part: s.Part,
		})
	}
	for _, v := range job.Values {
		mv := manifest.Value{
			FieldID: v.FieldID, SignerID: v.SignerID, Kind: v.Kind, Page: v.Page, Box: [4]float64{v.X, v.Y, v.W, v.H},
			Text: v.Text, Checked: v.Checked, Name: v.Name, Group: v.Group, Option: v.Option,
		}
		if len(v.PNG) > 0 {
			mv.Image = hex.EncodeToString(sha256Of(v.PNG))
		}
		m.Values = append(m.Values, mv)
	}
	m.Attachments = manifestAttachments(job)
	if job.Appearance != nil {
		shown := *job.Appearance
		shown.SHA256, shown.Size = job.sha256(), job.Size
		m.Appearance = &shown
	}
	return m
}

// manifestShown returns a copy of s whose list of signers is never nil.
func manifestShown(s *Shown) *Shown {
	if s == nil {
		return nil
	}
	return &Shown{Digest: s.Digest, Signers: append([]string{}, s.Signers...), Confirmed: s.Confirmed}
}

func timeOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
