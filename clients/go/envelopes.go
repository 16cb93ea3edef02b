package countersign

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/google/uuid"

	"countersign/clients/go/api"
)

type (
	// Envelope is an envelope with all its parts.
	Envelope = api.Envelope
	// EnvelopeRequest describes an envelope to create.
	EnvelopeRequest = api.EnvelopeRequest
	// SignerRequest describes a signer of an envelope to create.
	SignerRequest = api.SignerRequest
	// FieldRequest describes a field to create.
	FieldRequest = api.FieldRequest
	// Signer is a signer of an envelope.
	Signer = api.Signer
	// Field is a field of an envelope.
	Field = api.Field
	// Document describes an uploaded document.
	Document = api.UploadedDocument
)

// The kinds of document files: as uploaded, as displayed before signing, and as sealed after signing.
const (
	Original = api.DownloadDocumentParamsKindOriginal
	Prepared = api.DownloadDocumentParamsKindPrepared
	Sealed   = api.DownloadDocumentParamsKindSealed
)

// Ptr returns a pointer to a value, for optional members of requests.
func Ptr[T any](v T) *T { return &v }

// Optional is like Ptr, but returns nil for the zero value.
func Optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// NewField returns a field for the signer with the given index, ID or email address. x and y are the left and top
// edges of the field on the page, and w and h are its width and height. All are in points from the top left corner of
// the page, regardless of the tenant's own origin.
func NewField(kind api.FieldType, signer string, page int, x, y, w, h float64) FieldRequest {
	return FieldRequest{Type: kind, SignerID: &signer, Page: &page, X: &x, Y: &y, W: &w, H: &h, Origin: Ptr(api.FieldRequestOriginTopLeft)}
}

// Create creates a draft. Documents are uploaded to it afterwards.
func (c *Client) Create(ctx context.Context, e EnvelopeRequest) (*Envelope, error) {
	return created(c.API.CreateEnvelopeWithResponse(ctx, nil, e))
}

// AddSigner adds a signer to a draft.
func (c *Client) AddSigner(ctx context.Context, id uuid.UUID, s SignerRequest) (*Signer, error) {
	return created(c.API.CreateSignerWithResponse(ctx, id, nil, s))
}

// AddFields adds fields to a draft, either all of them or none. A field that is placed by text in the document (Anchor)
// can result in several fields or none, so the number of returned fields may differ.
func (c *Client) AddFields(ctx context.Context, id uuid.UUID, fields ...FieldRequest) ([]Field, error) {
	var body api.FieldOrListRequest
	if err := body.FromFieldOrListRequest1(fields); err != nil {
		return nil, fmt.Errorf("countersign: write fields: %w", err)
	}
	added, err := created(c.API.CreateFieldWithResponse(ctx, id, nil, body))
	if err != nil {
		return nil, err
	}
	list, err := added.AsFieldOrList1()
	if err != nil {
		return nil, fmt.Errorf("countersign: read fields: %w", err)
	}
	return list, nil
}

// Upload adds a PDF to a draft. If the content can be read again, as a file can, the request is retried. Other
// content, such as a pipe, is sent only once.
func (c *Client) Upload(ctx context.Context, id uuid.UUID, pdf io.Reader) (*Document, error) {
	return c.UploadWith(ctx, id, pdf, UploadOptions{})
}

// UploadOptions specifies how a document is prepared before it is displayed.
type UploadOptions = api.UploadDocumentParams

// Values of UploadOptions that convert text tags or the fields of a PDF form into fields of the envelope.
const (
	DetectTags = api.UploadDocumentParamsTagsDetect
	ImportForm = api.UploadDocumentParamsFormImport
)

// UploadWith is like Upload, but prepares the document with the given options.
func (c *Client) UploadWith(ctx context.Context, id uuid.UUID, pdf io.Reader, o UploadOptions) (*Document, error) {
	body, prepare, err := uploadBody(pdf)
	if err != nil {
		return nil, err
	}
	return Answer(c.API.UploadDocumentWithBodyWithResponse(ctx, id, &o, "application/octet-stream", body, prepare))
}

// uploadBody returns the body of an upload, and a request editor that sets its length and allows it to be read again.
func uploadBody(r io.Reader) (io.Reader, api.RequestEditorFn, error) {
	source, ok := r.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		return io.NopCloser(r), func(context.Context, *http.Request) error { return nil }, nil
	}
	start, err := source.Seek(0, io.SeekCurrent)
	if err != nil { // such as a pipe that implements io.Seeker
		return io.NopCloser(r), func(context.Context, *http.Request) error { return nil }, nil //nolint:nilerr // the content can still be read
	}
	end, err := source.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, nil, fmt.Errorf("countersign: find the size of an upload: %w", err)
	}
	open := func() io.ReadCloser { return io.NopCloser(io.NewSectionReader(source, start, end-start)) }
	return open(), func(_ context.Context, req *http.Request) error {
		req.ContentLength = end - start
		req.GetBody = func() (io.ReadCloser, error) { return open(), nil }
		return nil
	}, nil
}

// Send invites the first signers of a draft. Only this response contains the links of these signers.
func (c *Client) Send(ctx context.Context, id uuid.UUID, message string) (*Envelope, error) {
	return Answer(c.API.SendEnvelopeWithResponse(ctx, id, nil, api.SendRequest{Message: Optional(message)}))
}

// Envelope returns an envelope with its audit trail.
func (c *Client) Envelope(ctx context.Context, id uuid.UUID) (*Envelope, error) {
	return Answer(c.API.GetEnvelopeWithResponse(ctx, id))
}

// Void ends an envelope and invalidates its links. This cannot be undone.
func (c *Client) Void(ctx context.Context, id uuid.UUID, reason string) (*Envelope, error) {
	return Answer(c.API.VoidEnvelopeWithResponse(ctx, id, nil, api.ReasonRequest{Reason: Optional(reason)}))
}

// Remind sends a signer a reminder email with the current link. Each signer can be reminded once per hour.
func (c *Client) Remind(ctx context.Context, id, signer uuid.UUID) error {
	_, err := c.API.RemindSignerWithResponse(ctx, id, signer, nil)
	return err
}

// Download returns the content of the first document of an envelope, as uploaded, prepared or sealed. The caller must
// close the reader.
func (c *Client) Download(ctx context.Context, id uuid.UUID, kind api.DownloadDocumentParamsKind) (io.ReadCloser, error) {
	return c.DownloadWith(ctx, id, DownloadOptions{Kind: &kind})
}

// DownloadOptions specifies a document of an envelope.
type DownloadOptions = api.DownloadDocumentParams

// DownloadWith is like Download, but can download any document of the envelope.
func (c *Client) DownloadWith(ctx context.Context, id uuid.UUID, o DownloadOptions) (io.ReadCloser, error) {
	return opened(c.API.DownloadDocument(ctx, id, &o))
}

// DownloadAll returns a ZIP file with all sealed documents of an envelope. The caller must close the reader.
func (c *Client) DownloadAll(ctx context.Context, id uuid.UUID) (io.ReadCloser, error) {
	return opened(c.API.DownloadSealedDocuments(ctx, id))
}

func opened(res *http.Response, err error) (io.ReadCloser, error) {
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// ListOptions selects the envelopes to list.
type ListOptions struct {
	TenantID string
	Status   api.EnvelopeStatus // "" lists envelopes of every status
}

// Envelopes iterates over the envelopes of a tenant, newest first. It requests pages as needed, and stops after an
// error. It neither omits nor repeats an envelope, even if envelopes are created, sent or ended during the iteration.
func (c *Client) Envelopes(ctx context.Context, o ListOptions) iter.Seq2[*Envelope, error] {
	return func(yield func(*Envelope, error) bool) {
		params := &api.ListEnvelopesParams{TenantID: o.TenantID, PageSize: Ptr(100), Status: Optional(o.Status)}
		for {
			list, err := Answer(c.API.ListEnvelopesWithResponse(ctx, params))
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range list.Data {
				if !yield(&list.Data[i], nil) {
					return
				}
			}
			if params.Cursor = list.NextCursor; params.Cursor == nil {
				return
			}
		}
	}
}

// EndedError reports that an envelope was declined, voided or expired.
type EndedError struct{ Envelope *Envelope }

// Error returns a message with the ID and final status of the envelope.
func (e *EndedError) Error() string {
	return fmt.Sprintf("envelope %s is %s", e.Envelope.ID, e.Envelope.Status)
}

const (
	firstPoll = time.Second
	maxPoll   = 15 * time.Second
)

// WaitUntilCompleted waits until all signers have signed and the documents are sealed. It returns an *EndedError if
// the envelope is declined, voided or expires. ctx limits the waiting time.
func (c *Client) WaitUntilCompleted(ctx context.Context, id uuid.UUID) (*Envelope, error) {
	for wait := firstPoll; ; wait = min(wait*3/2, maxPoll) {
		e, err := c.Envelope(ctx, id)
		if err != nil {
			return nil, err
		}
		switch e.Status {
		case api.EnvelopeStatusCompleted:
			return e, nil
		case api.EnvelopeStatusDeclined, api.EnvelopeStatusVoided, api.EnvelopeStatusExpired:
			return e, &EndedError{Envelope: e}
		case api.EnvelopeStatusDraft, api.EnvelopeStatusSent, api.EnvelopeStatusInProgress:
		}
		if err := sleep(ctx, wait); err != nil {
			return e, err
		}
	}
}
