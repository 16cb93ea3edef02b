package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
	"countersign/prepare"
	"countersign/seal/admission"
	"countersign/seal/manifest"
	"countersign/store/blob"
)

// passwordHeader is the name of the header that contains a file's password. The password is in a header because headers
// are not logged.
const passwordHeader = "X-Document-Password"

// takePassword sets the password from the header unless it is already set.
func (p *preparationOptions) takePassword(c *gin.Context) {
	if v := c.Request.Header.Values(passwordHeader); p.password == nil && len(v) > 0 {
		p.password = &v[0]
	}
}

// optionNames lists the names of all preparation options.
var optionNames = []string{"tags", "form", "formRole", "activeContent", "repair", "password"}

// documentOptions reads the preparation options from o. If o is nil, it returns the defaults.
func documentOptions(o *object) preparationOptions {
	var out preparationOptions
	if o == nil {
		return out
	}
	for name := range o.m {
		if !slices.Contains(optionNames, name) {
			o.bad(name, "is not an option; the options are tags, form, formRole, activeContent, repair and password")
		}
	}
	out.password = o.optStr("password")
	if out.password != nil && utf8.RuneCountInString(*out.password) > maxPassword {
		o.bad("password", "must have at most %d characters", maxPassword)
	}
	out.Tags = choice(o, "tags", prepare.TagsIgnore, prepare.TagsDetect)
	out.Form = choice(o, "form", prepare.FormKeep, prepare.FormImport)
	out.ActiveContent = choice(o, "activeContent", prepare.ActiveRemove, prepare.ActiveReject)
	out.repair = choice(o, "repair", admission.RepairAuto, admission.RepairReject)
	if v := o.optStr("formRole"); v != nil {
		models.CheckText(o.p, o.path+"formRole", *v, 1, maxRole)
		out.FormRole = *v
		if out.Form != prepare.FormImport {
			o.bad("formRole", "can be used only with form=import")
		}
	}
	return out
}

// choice reads an option that has two values. It returns "" if the option is absent or has its default value.
func choice(o *object, name, byDefault, other string) string {
	v := models.Deref(o.optStr(name), byDefault)
	if v == other {
		return other
	}
	if v != byDefault {
		o.bad(name, "must be %s or %s", byDefault, other)
	}
	return ""
}

// Limits in characters. A PDF password is truncated to 127 bytes (ISO 32000-2, 7.6.4.3.2).
const (
	maxRole     = 64
	maxPassword = 127
)

// optionsOf reads the preparation options. It calls get for the text of each option.
func optionsOf(get func(name string) (string, bool)) (preparationOptions, error) {
	o := &object{m: make(map[string]any), p: models.Problems{}}
	for _, name := range optionNames {
		if v, ok := get(name); ok {
			o.m[name] = v
		}
	}
	out := documentOptions(o)
	return out, o.err()
}

// queryOptions reads the preparation options for a raw upload.
func queryOptions(c *gin.Context) (preparationOptions, error) {
	if _, present := c.GetQuery("password"); present { // passwords are not accepted here, because query strings may be logged
		return preparationOptions{}, models.InvalidField("password", "must be sent in the header "+passwordHeader+", not in the URL")
	}
	out, err := optionsOf(c.GetQuery)
	out.takePassword(c)
	return out, err
}

// partOptions reads the preparation options for a multipart upload.
func partOptions(c *gin.Context, text map[string][]string) (preparationOptions, error) {
	out, err := optionsOf(func(name string) (string, bool) {
		if v := text[name]; len(v) > 0 {
			return v[0], true
		}
		return "", false
	})
	out.takePassword(c)
	return out, err
}

// writePrepared writes the prepared file if the upload needs changes.
func (s *uploads) writePrepared(u *upload) error {
	if u.revision == nil {
		return nil
	}
	f, err := s.blobs.Temp()
	if err != nil {
		return err
	}
	u.prepared = f
	hash := sha256.New()
	to := io.MultiWriter(f, hash)
	var base io.Reader = io.NewSectionReader(u.file, 0, u.Size)
	size, as, plan := u.Size, manifest.Appended, &u.revision.Plan
	if u.revision.Rewritten != nil {
		base, size = bytes.NewReader(u.revision.Rewritten), int64(len(u.revision.Rewritten))
		as, plan, u.revision.Writer = manifest.Rewritten, nil, 0
	}
	if _, err := io.Copy(to, base); err != nil {
		return fmt.Errorf("write prepared file: %w", err)
	}
	if _, err := to.Write(u.revision.Appended); err != nil {
		return fmt.Errorf("write prepared file: %w", err)
	}
	p := manifest.Prepared{
		SHA256: hex.EncodeToString(hash.Sum(nil)), Size: size + int64(len(u.revision.Appended)), As: as, Writer: u.revision.Writer,
		Options: u.preparing.Options, Changes: u.revision.Changes, Plan: plan,
		Signatures: u.revision.Signatures,
	}
	record, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("describe prepared file: %w", err)
	}
	u.PreparedSHA256, u.PreparedSize, u.PreparedEncrypted, u.Preparation = p.SHA256, p.Size, blob.Encrypts(s.blobs), string(record)
	for _, c := range p.Changes {
		u.PreparedChanges = append(u.PreparedChanges, models.PreparedChange(c))
	}
	return nil
}

// nameUpload sets the storage keys for the files of an upload.
func (s *uploads) nameUpload(e *models.Envelope, u *upload) {
	u.BlobKey = originalKey(e, s.newID())
	if u.IsPrepared() {
		u.PreparedKey = preparedKey(e, s.newID())
	}
}

func preparedKey(e *models.Envelope, id uuid.UUID) string {
	return fmt.Sprintf("envelopes/%s/prepared/%s.pdf", e.ID, id)
}

func (s *uploads) storeUpload(c *gin.Context, u *upload) error {
	if err := s.blobs.Put(c.Request.Context(), u.file, u.BlobKey); err != nil {
		return err
	}
	return s.storePrepared(c, u)
}

// storePrepared stores the prepared file of an upload, if there is one.
func (s *uploads) storePrepared(c *gin.Context, u *upload) error {
	if !u.IsPrepared() {
		return nil
	}
	return s.blobs.Put(c.Request.Context(), u.prepared, u.PreparedKey)
}

// discardUpload removes the files of an upload that was not added to an envelope.
func (s *uploads) discardUpload(c *gin.Context, u *upload) {
	for _, key := range u.BlobKeys() {
		s.discardBlob(c, key)
	}
}

// changeView represents a change from the uploaded file to the prepared file.
type changeView struct {
	Kind   string  `json:"kind"`
	Page   *int    `json:"page"` // null if the change does not affect a page
	Count  int     `json:"count"`
	Detail *string `json:"detail"`
}

// viewPrepared returns the view of an original's prepared file, or a JSON null if there is none.
func viewPrepared(d *models.Document) *json.RawMessage {
	out := json.RawMessage("null")
	if !d.IsPrepared() {
		return &out
	}
	changes := viewChanges(d)
	if changes == nil {
		changes = []changeView{}
	}
	b, err := json.Marshal(map[string]any{"sha256": d.PreparedSHA256, "size": d.PreparedSize, "changes": changes})
	if err == nil { // strings and numbers can always be encoded
		out = b
	}
	return &out
}

// viewChanges returns the differences between the prepared file and the upload.
func viewChanges(d *models.Document) (out []changeView) {
	for _, c := range d.PreparedChanges {
		out = append(out, changeView{c.Kind, nilIfZero(c.Page), c.Count, nilIfZero(c.Detail)})
	}
	return out
}

// presented returns the file that is presented to recipients: the prepared file, if there is one, or else the uploaded
// file.
func (u *upload) presented() (io.ReaderAt, int64) {
	if u.prepared != nil {
		return u.prepared, u.PreparedSize
	}
	return u.file, u.Size
}
