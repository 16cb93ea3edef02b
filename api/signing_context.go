package api

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
)

type contextView struct {
	EnvelopeID              uuid.UUID          `json:"envelopeId"`
	SignerID                uuid.UUID          `json:"signerId"`
	SignerName              string             `json:"signerName"`
	SignerEmail             string             `json:"signerEmail"`
	Subject                 *string            `json:"subject"`
	Message                 *string            `json:"message"`
	SenderName              string             `json:"senderName"`
	ExpiresAt               *time.Time         `json:"expiresAt"`
	Fields                  []contextField     `json:"fields"`
	Documents               []contextDoc       `json:"documents"`
	RequiresOTPVerification bool               `json:"requiresOtpVerification"`
	OTPVerified             bool               `json:"otpVerified"`
	AuthMethod              models.AuthMethod  `json:"authMethod"`
	MaskedEmail             string             `json:"maskedEmail"`
	MaskedPhone             string             `json:"maskedPhone,omitempty"`
	ConsentGiven            bool               `json:"consentGiven"`
	Consent                 consentView        `json:"consent"`
	SavedSignatureB64       *string            `json:"savedSignatureB64"`
	SavedSignatureFontLabel *string            `json:"savedSignatureFontLabel"`
	Contact                 *string            `json:"contact"`
	Filled                  []enteredValueView `json:"filled"`
	Later                   []laterView        `json:"later,omitempty"`
	Shown                   *string            `json:"shown"`
	DraftKey                *string            `json:"draftKey"`
	Code                    *codeView          `json:"code"`
	DeclineNeedsCode        bool               `json:"declineNeedsCode"`
	ReadBeforeCode          bool               `json:"readBeforeCode"`
	ConditionValues         map[string]string  `json:"conditionValues,omitempty"`
	Attachments             []attachmentView   `json:"attachments,omitempty"`
	contextRecipient
	Branding *contextBranding `json:"branding,omitempty"`
}

// laterView represents a field that another signer has not filled in yet.
type laterView struct {
	FieldID    uuid.UUID        `json:"fieldId"`
	SignerName string           `json:"signerName"`
	DocumentID uuid.UUID        `json:"documentId"`
	Type       models.FieldType `json:"type"`
	positionView
}

// laterFields returns the fields of all other signers who have not acted yet, in the order of the envelope's fields.
func laterFields(e *models.Envelope, signer *models.Signer) (out []laterView) {
	for _, f := range e.Fields {
		if other := e.Signer(f.SignerID); other != nil && other != signer && !other.HasActed() {
			out = append(out, laterView{FieldID: f.ID, SignerName: other.Name, DocumentID: f.DocumentID, Type: f.Type, positionView: viewPosition(f)})
		}
	}
	return out
}

type contextDoc struct {
	DocumentID uuid.UUID        `json:"documentId"`
	Name       string           `json:"name"`
	PageCount  int              `json:"pageCount"`
	Order      int              `json:"order"`
	Size       int64            `json:"size"`
	SHA256     string           `json:"sha256"`
	Pages      []models.PageRun `json:"pages"`
	// Changes lists the differences between the presented file and the uploaded file.
	Changes []changeView `json:"changes,omitempty"`
}

type consentView struct {
	Version  string `json:"version"`
	Language string `json:"language"`
	Text     string `json:"text"`
}

// maxLanguage is the maximum length of a language tag, in characters.
const maxLanguage = 100

func checkLanguage(c *gin.Context) error {
	if len(c.Query("language")) > maxLanguage {
		return models.InvalidField("language", "must have at most %d characters", maxLanguage)
	}
	return nil
}

// signingContext responds with the data for the signing page. The first request records that the signer opened the
// link.
func (s *signingHandler) signingContext(c *gin.Context, l signerLink) error {
	if err := checkLanguage(c); err != nil {
		return err
	}
	e, err := s.linkedEnvelope(c, l)
	if err != nil {
		return err
	}
	act := s.signerContext(c, l)
	signer, err := e.Reader(l.Link, act.At, true)
	if err != nil {
		return err
	}
	now, err := e.Shown()
	if err != nil {
		return err
	}
	confirmed, opened := signer.Confirmed(act), signer.Status != models.SignerViewed
	if c.Request.Method != http.MethodHead && (signer.Status != models.SignerViewed || confirmed && signer.Shown != now.Digest) {
		e, err = s.store.Change(c.Request.Context(), l.App, l.EnvelopeID, func(e *models.Envelope) (err error) {
			signer, err = e.Open(act, l.Link)
			if confirmed = err == nil && signer.Confirmed(act); confirmed {
				signer, err = e.RecordDisplayedValues(act, l.Link)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if opened && c.GetHeader("Sec-Fetch-Site") == "same-origin" { // requested by the signing page, which displays page images
		s.pages.renderFirstPage(c.Request.Context(), e)
	}
	chosen, err := s.senderSettings(c, l.App, e)
	if err != nil {
		return err
	}
	v, err := s.viewContext(c, chosen, e, signer, confirmed)
	if err != nil {
		return err
	}
	v.OTPVerified, v.ConsentGiven = signer.NeedsCode() && confirmed, signer.ConsentAt != nil
	if confirmed {
		key := s.codes.DraftKey(l.Link)
		v.Shown, v.DraftKey = &signer.Shown, &key
	}
	if v.OTPVerified && signer.KeepsSignature() {
		saved, err := s.store.SavedSignature(c.Request.Context(), e, signer)
		if err != nil {
			return err
		}
		if saved != nil {
			b64 := base64.StdEncoding.EncodeToString(saved.Image)
			v.SavedSignatureB64, v.SavedSignatureFontLabel = &b64, saved.FontLabel
		}
	}
	return respond(c, http.StatusOK, v)
}

// viewContext returns the data for a signer's signing page. It contains values only if the client is confirmed.
func (s *signingHandler) viewContext(c *gin.Context, chosen models.Settings, e *models.Envelope, signer *models.Signer, confirmed bool) (contextView, error) {
	ctx := c.Request.Context()
	shown := signer.Disclosure(cmp.Or(c.Query("language"), signer.Language))
	v := contextView{
		EnvelopeID: e.ID, SignerID: signer.ID, SignerName: signer.Name, SignerEmail: signer.Email, Subject: e.Subject, Message: e.Message,
		SenderName: *chosen.SenderName, Contact: chosen.ReplyTo, ExpiresAt: utcPtr(e.ExpiresAt), Fields: []contextField{}, Documents: contextDocs(e),
		RequiresOTPVerification: signer.NeedsCode(), AuthMethod: signer.AuthMethod, MaskedEmail: signer.MaskedEmail(), MaskedPhone: signer.MaskedPhone(),
		Consent: consentView{shown.Version, shown.Language, shown.Text},
		Filled:  []enteredValueView{}, Code: viewCode(signer.CodeState(s.now())), DeclineNeedsCode: s.declineNeedsCode, ReadBeforeCode: !s.codeBeforeReading,
		contextRecipient: viewContextRecipient(e, signer, confirmed),
		Branding:         signingBranding(chosen),
	}
	if confirmed {
		var err error
		if v.Filled, err = s.enteredValues(ctx, e); err != nil {
			return v, err
		}
		v.Later = laterFields(e, signer)
		if hasAttachments(e) {
			known, err := s.store.Attachments(ctx, e.ID)
			if err != nil {
				return v, err
			}
			v.Attachments = viewEach(models.AttachmentsOf(known, signer.ID), viewAttachment)
		}
	}
	return v, s.contextFields(c, &v, e, signer, confirmed)
}

// senderSettings returns the settings in effect for the sender of an envelope in the app with the given ID.
func (s *signingHandler) senderSettings(c *gin.Context, id uuid.UUID, e *models.Envelope) (models.Settings, error) {
	app, err := s.store.App(c.Request.Context(), id)
	if err != nil {
		return models.Settings{}, err
	}
	return s.settings.effectiveSettings(c, caller{App: app}, e.TenantID)
}

func contextDocs(e *models.Envelope) []contextDoc {
	return viewEach(e.Originals(), func(d *models.Document) contextDoc {
		return contextDoc{d.ID, e.DocumentName(d), d.PageCount, d.Order, d.Size, d.SHA256, d.Pages, viewChanges(d)}
	})
}

// signingLogo sends the sender's logo to the signing page, even if the link can no longer be used to sign.
func (s *signingHandler) signingLogo(c *gin.Context, l signerLink) error {
	e, err := s.linkedEnvelope(c, l)
	if err != nil {
		return err
	}
	if _, err := e.OutcomeOf(l.Link, s.now()); err != nil {
		return err
	}
	return s.branding.serveLogo(c, l.App, e.TenantID)
}

// contextRecipient describes the recipient to the signing page. Empty members are omitted.
type contextRecipient struct {
	Kind            models.RecipientKind `json:"kind,omitempty"`
	Role            string               `json:"role,omitempty"`
	Language        string               `json:"language,omitempty"`
	Host            *contextHost         `json:"host,omitempty"`
	MayDelegate     bool                 `json:"mayDelegate,omitempty"`
	WitnessFor      *witnessedView       `json:"witnessFor,omitempty"`
	DocumentsToOpen *[]uuid.UUID         `json:"documentsToOpen,omitempty"`
}

func viewContextRecipient(e *models.Envelope, s *models.Signer, confirmed bool) contextRecipient {
	v := contextRecipient{Kind: s.DisplayKind(), Role: s.Role, Language: s.Language, MayDelegate: s.AllowDelegation && !s.Delegated}
	if h := s.Host(); h != nil {
		v.Host = &contextHost{h.Name}
	}
	if p := e.Principal(s); p != nil {
		v.WitnessFor = &witnessedView{SignerID: p.ID, Role: p.Role, SignedAt: utcPtr(p.SignedAt)}
		if confirmed {
			v.WitnessFor.Name = &p.Name
		}
	}
	if s.ReadsAll() {
		v.DocumentsToOpen = new(append([]uuid.UUID{}, e.Unopened(s)...))
	}
	return v
}
