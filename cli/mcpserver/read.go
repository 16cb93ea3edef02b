package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
)

type listInput struct {
	Search      string `json:"search,omitempty" jsonschema:"words in the subject or in signers' names and addresses"`
	Status      string `json:"status,omitempty" jsonschema:"draft, sent, in_progress, completed, declined, voided or expired"`
	Undelivered bool   `json:"undelivered,omitempty" jsonschema:"only envelopes with an email that permanently failed"`
	Limit       int    `json:"limit,omitempty" jsonschema:"maximum number of results, 1 to 50; default 20"`
	Cursor      string `json:"cursor,omitempty" jsonschema:"nextCursor of the previous page"`
}

type row struct {
	ID          uuid.UUID `json:"id"`
	Subject     string    `json:"subject"`
	Status      string    `json:"status"`
	CreatedAt   time.Time `json:"createdAt"`
	Signed      string    `json:"signed"`
	Undelivered int       `json:"undeliveredMails,omitempty"`
	Page        string    `json:"page"`
}

// pageSize returns the number of items for the limit in a request. Zero selects the default.
func pageSize(limit int) (int, error) {
	size := cmp.Or(limit, 20)
	if size < 1 || size > 50 {
		return 0, errors.New("limit must be between 1 and 50")
	}
	return size, nil
}

func (s *server) listEnvelopes(ctx context.Context, _ *mcp.CallToolRequest, in listInput) (any, error) {
	size, err := pageSize(in.Limit)
	if err != nil {
		return nil, err
	}
	found, err := countersign.Answer(s.Client.API.SearchEnvelopesWithResponse(ctx, &api.SearchEnvelopesParams{
		TenantID: &s.Tenant, Cursor: countersign.Optional(in.Cursor), PageSize: &size, Search: countersign.Optional(in.Search),
		Status: countersign.Optional(api.EnvelopeStatus(in.Status)), Undelivered: countersign.Optional(in.Undelivered),
	}))
	if err != nil {
		return nil, err
	}
	rows := make([]row, 0, len(found.Data))
	for i := range found.Data {
		e := &found.Data[i]
		signed := 0
		for j := range e.Signers {
			if e.Signers[j].Status == api.SignerStatusSigned {
				signed++
			}
		}
		rows = append(rows, row{e.ID, cleanPtr(e.Subject), string(e.Status), e.CreatedAt, fmt.Sprintf("%d of %d", signed, len(e.Signers)), len(e.Undelivered), s.page(e.ID)})
	}
	return map[string]any{"envelopes": rows, "nextCursor": found.NextCursor}, nil
}

type idInput struct {
	EnvelopeID string `json:"envelope_id" jsonschema:"id of the envelope"`
}

type signerView struct {
	ID       uuid.UUID  `json:"id"`
	Name     string     `json:"name"`
	Email    string     `json:"email"`
	Status   string     `json:"status"`
	Order    int        `json:"order"`
	Auth     string     `json:"auth"`
	SignedAt *time.Time `json:"signedAt,omitempty"`
	Fields   int        `json:"fields"`
}

type documentView struct {
	ID     uuid.UUID `json:"id"`
	Name   string    `json:"name"`
	Kind   string    `json:"kind"`
	Pages  int       `json:"pages"`
	SHA256 string    `json:"sha256"`
}

type eventView struct {
	At    time.Time `json:"at"`
	Event string    `json:"event"`
	Actor string    `json:"actor"`
}

type envelopeView struct {
	ID        uuid.UUID      `json:"id"`
	Subject   string         `json:"subject"`
	Status    string         `json:"status"`
	CreatedAt time.Time      `json:"createdAt"`
	ExpiresAt *time.Time     `json:"expiresAt,omitempty"`
	Signers   []signerView   `json:"signers"`
	Documents []documentView `json:"documents"`
	Events    []eventView    `json:"lastEvents,omitempty"`
	Page      string         `json:"page"`
}

const (
	maxListed = 50 // maximum number of signers or documents in a result
	maxEvents = 15
)

// view converts an envelope for agents. It copies each member explicitly, so that the result contains nothing else, in
// particular no signing link.
func (s *server) view(e *countersign.Envelope) envelopeView {
	v := envelopeView{ID: e.ID, Subject: cleanPtr(e.Subject), Status: string(e.Status), CreatedAt: e.CreatedAt, ExpiresAt: e.ExpiresAt, Page: s.page(e.ID)}
	fields := make(map[uuid.UUID]int)
	for i := range e.Fields {
		fields[e.Fields[i].SignerID]++
	}
	for _, g := range e.Signers[:min(len(e.Signers), maxListed)] {
		v.Signers = append(v.Signers, signerView{g.ID, clean(g.Name, maxText), clean(g.Email, maxText), string(g.Status), g.RoutingOrder, string(g.AuthMethod), g.SignedAt, fields[g.ID]})
	}
	for _, d := range e.Documents[:min(len(e.Documents), maxListed)] {
		v.Documents = append(v.Documents, documentView{d.ID, clean(d.Name, maxText), string(d.Kind), d.PageCount, d.Sha256})
	}
	for _, ev := range e.AuditLog[max(0, len(e.AuditLog)-maxEvents):] {
		v.Events = append(v.Events, eventView{ev.Timestamp, clean(ev.Event, maxText), clean(ev.Actor, maxText)})
	}
	return v
}

func (s *server) getEnvelope(ctx context.Context, _ *mcp.CallToolRequest, in idInput) (any, error) {
	e, _, err := s.envelope(ctx, in.EnvelopeID)
	if err != nil {
		return nil, err
	}
	return s.view(e), nil
}

type suggestInput struct {
	EnvelopeID string `json:"envelope_id" jsonschema:"id of a draft"`
	DocumentID string `json:"document_id" jsonschema:"id of one of its documents"`
}

type suggestion struct {
	Type   string  `json:"type"`
	Page   int     `json:"page"`
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	W      float64 `json:"w"`
	H      float64 `json:"h"`
	Name   string  `json:"name,omitempty"`
	Role   string  `json:"role,omitempty"`
	Source string  `json:"source"`
}

const maxSuggestions = 100

func (s *server) suggestFields(ctx context.Context, _ *mcp.CallToolRequest, in suggestInput) (any, error) {
	e, _, err := s.envelope(ctx, in.EnvelopeID)
	if err != nil {
		return nil, err
	}
	doc, err := parseID("document_id", in.DocumentID)
	if err != nil {
		return nil, err
	}
	res, err := countersign.Answer(s.Client.API.SuggestFieldsWithResponse(ctx, e.ID, doc))
	if err != nil {
		return nil, err
	}
	found := res.Data
	out := make([]suggestion, 0, min(len(found), maxSuggestions))
	for i := range found[:min(len(found), maxSuggestions)] {
		f := &found[i]
		out = append(out, suggestion{clean(f.Type, maxText), f.Page, f.X, f.Y, f.W, f.H, cleanPtr(f.Name), cleanPtr(f.Role), string(f.Source)})
	}
	return map[string]any{"suggestions": out, "total": len(found), "unit": "points from the top left", "page": s.page(e.ID)}, nil
}

type fileInput struct {
	File string `json:"file" jsonschema:"name of a PDF in the shared folder"`
}

func (s *server) verifyPDF(ctx context.Context, _ *mcp.CallToolRequest, in fileInput) (any, error) {
	f, err := s.openPDF(in.File)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	r, err := countersign.Answer(s.Client.API.VerifyDocumentWithBodyWithResponse(ctx, nil, "application/pdf", f))
	if err != nil {
		return nil, err
	}
	out := map[string]any{"verdict": string(r.Verdict), "summary": clean(r.Summary, 500), "page": s.Client.Address() + "/verify"}
	for name, text := range map[string]*string{"sealedBy": r.SealedBy, "envelopeId": r.EnvelopeID, "level": r.Level, "sha256": r.Sha256} {
		if text != nil {
			out[name] = clean(*text, maxText)
		}
	}
	for name, at := range map[string]*time.Time{"sealedAt": r.SealedAt, "stampedAt": r.StampedAt} {
		if at != nil {
			out[name] = at
		}
	}
	var other []string
	for _, f := range r.Findings {
		if f.Status != api.VerifyReportFindingsStatusPassed && len(other) < 10 {
			other = append(other, clean(f.Code+": "+f.Detail, 300))
		}
	}
	if other != nil {
		out["findings"] = other
	}
	return out, nil
}
