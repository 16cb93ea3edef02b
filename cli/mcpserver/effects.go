package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
)

// ifUnchanged makes the service reject a request with 412 if the envelope has changed since the person confirmed it.
func ifUnchanged(tag string) api.RequestEditorFn {
	return func(_ context.Context, req *http.Request) error {
		if tag == "" {
			return errors.New("rejected: the service does not return the envelope's version; update the service")
		}
		req.Header.Set("If-Match", tag)
		return nil
	}
}

// heading returns the first line of a confirmation request, which identifies the envelope.
func heading(verb string, e *countersign.Envelope) string {
	return fmt.Sprintf("%s envelope %q (%s)?", verb, cleanPtr(e.Subject), e.ID)
}

func signerLine(g *api.Signer) string {
	by := map[api.AuthMethod]string{api.AuthMethodEmailOtp: "code by email", api.AuthMethodSmsOtp: "code by text message", api.AuthMethodNone: "no code: the link alone identifies them"}[g.AuthMethod]
	return fmt.Sprintf("- %s, group %d, %s, %s", who(g), g.RoutingOrder, by, g.Status)
}

func signerLines(e *countersign.Envelope) []string {
	lines := []string{"Signers:"}
	for i := range e.Signers {
		lines = append(lines, signerLine(&e.Signers[i]))
	}
	return lines
}

type sendInput struct {
	EnvelopeID string `json:"envelope_id" jsonschema:"id of a draft"`
	Message    string `json:"message,omitempty" jsonschema:"text in the invitation"`
}

func (s *server) sendEnvelope(ctx context.Context, q confirmationRequest, in sendInput) (any, error) {
	body := api.SendRequest{Message: countersign.Optional(in.Message)}
	e, err := countersign.Answer(s.Client.API.SendEnvelopeWithResponse(ctx, q.envelope, nil, body, ifUnchanged(q.tag)))
	if err != nil {
		return nil, err
	}
	return s.status(e), nil
}

func (s *server) status(e *countersign.Envelope) map[string]any {
	return map[string]any{"envelopeId": e.ID, "status": e.Status, "page": s.page(e.ID)}
}

// maxConfirmedText is the maximum length of text sent to other people, in bytes. The person who confirms the action must
// see the complete text.
const maxConfirmedText = 2000

func (s *server) confirmSend(ctx context.Context, req *mcp.CallToolRequest, in sendInput) (any, error) {
	if len(in.Message) > maxConfirmedText {
		return nil, fmt.Errorf("message: must be at most %d bytes long", maxConfirmedText)
	}
	e, tag, err := s.envelope(ctx, in.EnvelopeID)
	if err != nil {
		return nil, err
	}
	if e.Status != api.EnvelopeStatusDraft {
		return nil, fmt.Errorf("only drafts can be sent; the envelope is %s", e.Status)
	}
	text := append([]string{heading("Send", e)}, signerLines(e)...)
	text = append(text, "Documents:")
	for i := range e.Documents {
		d := &e.Documents[i]
		name := cmp.Or(clean(d.Name, maxText), "without a name")
		pages := "1 page"
		if d.PageCount != 1 {
			pages = fmt.Sprintf("%d pages", d.PageCount)
		}
		text = append(text, fmt.Sprintf("- %s, %s, SHA-256 %.16s…", name, pages, d.Sha256))
	}
	message := in.Message
	if message == "" && e.Message != nil {
		message = *e.Message
	}
	if message != "" {
		text = append(text, fmt.Sprintf("Message: %q", clean(message, maxConfirmedText)))
	}
	return s.requestConfirmation(req, confirmationRequest{envelope: e.ID, tag: tag}, text, "Send it to these people")
}

// reminded is a signer to be reminded, as displayed to the person who confirmed the reminder.
type reminded struct {
	id   uuid.UUID
	line string
}

func (s *server) remindSigners(ctx context.Context, q confirmationRequest, _ idInput) (any, error) {
	ids := make([]uuid.UUID, 0, len(q.remind))
	for _, r := range q.remind {
		if err := s.remind(ctx, q.envelope, r); err != nil {
			return nil, fmt.Errorf("signer %s (after reminding %d others): %w", r.id, len(ids), err)
		}
		ids = append(ids, r.id)
	}
	return map[string]any{"envelopeId": q.envelope, "reminded": ids, "page": s.page(q.envelope)}, nil
}

// remind sends a reminder to a signer, unless the data displayed in the confirmation request has changed. Emails
// recorded after the confirmation also change the envelope's version. In that case, remind reloads the envelope and
// tries again.
func (s *server) remind(ctx context.Context, envelope uuid.UUID, r reminded) error {
	const attempts = 5
	for n := 1; ; n++ {
		e, tag, err := s.envelope(ctx, envelope.String())
		if err != nil {
			return err
		}
		i := slices.IndexFunc(e.Signers, func(g api.Signer) bool { return g.ID == r.id })
		if i < 0 || shown(&e.Signers[i]) != r.line {
			return errors.New("rejected: the signer changed after the confirmation request; read the envelope and call the tool again")
		}
		_, err = s.Client.API.RemindSignerWithResponse(ctx, envelope, r.id, nil, ifUnchanged(tag))
		if rejected, ok := errors.AsType[*countersign.Error](err); !ok || rejected.Status != http.StatusPreconditionFailed || n == attempts {
			return err
		}
	}
}

// shown encodes who would receive a reminder, and whether the signer can sign now. If the encoding changes, the
// confirmation no longer applies.
func shown(g *api.Signer) string {
	phone := ""
	if g.Phone != nil {
		phone = *g.Phone
	}
	return fmt.Sprintf("%q %q %q %t", g.Name, g.Email, phone, canSignNow(g))
}

// canSignNow reports whether the signer can currently sign, regardless of whether the link was opened.
func canSignNow(g *api.Signer) bool {
	return g.Status == api.SignerStatusSent || g.Status == api.SignerStatusViewed
}

func (s *server) confirmReminder(ctx context.Context, req *mcp.CallToolRequest, in idInput) (any, error) {
	e, _, err := s.envelope(ctx, in.EnvelopeID)
	if err != nil {
		return nil, err
	}
	q := confirmationRequest{envelope: e.ID}
	text := []string{heading("Send reminders for", e), "Their links stay the same. To:"}
	for i := range e.Signers {
		if g := &e.Signers[i]; canSignNow(g) {
			q.remind = append(q.remind, reminded{g.ID, shown(g)})
			text = append(text, signerLine(g))
		}
	}
	if len(q.remind) == 0 {
		return nil, fmt.Errorf("no signer can sign now: the envelope is %s", e.Status)
	}
	return s.requestConfirmation(req, q, text, "Remind these people")
}

type voidInput struct {
	EnvelopeID string `json:"envelope_id"`
	Reason     string `json:"reason,omitempty" jsonschema:"shown to signers"`
}

func (s *server) voidEnvelope(ctx context.Context, q confirmationRequest, in voidInput) (any, error) {
	body := api.ReasonRequest{Reason: countersign.Optional(in.Reason)}
	e, err := countersign.Answer(s.Client.API.VoidEnvelopeWithResponse(ctx, q.envelope, nil, body, ifUnchanged(q.tag)))
	if err != nil {
		return nil, err
	}
	return s.status(e), nil
}

func (s *server) confirmVoid(ctx context.Context, req *mcp.CallToolRequest, in voidInput) (any, error) {
	if len(in.Reason) > maxConfirmedText {
		return nil, fmt.Errorf("reason: must be at most %d bytes long", maxConfirmedText)
	}
	e, tag, err := s.envelope(ctx, in.EnvelopeID)
	if err != nil {
		return nil, err
	}
	switch e.Status {
	case api.EnvelopeStatusDraft, api.EnvelopeStatusSent, api.EnvelopeStatusInProgress:
	case api.EnvelopeStatusCompleted, api.EnvelopeStatusDeclined, api.EnvelopeStatusVoided, api.EnvelopeStatusExpired:
		return nil, fmt.Errorf("the envelope is already %s", e.Status)
	}
	text := append([]string{heading("Void", e), "This cannot be undone."}, signerLines(e)...)
	if reason := strings.TrimSpace(in.Reason); reason != "" {
		text = append(text, fmt.Sprintf("Reason: %q", clean(reason, maxConfirmedText)))
	}
	return s.requestConfirmation(req, confirmationRequest{envelope: e.ID, tag: tag}, text, "Void")
}
