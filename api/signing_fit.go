package api

import (
	"net/http"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/models"
)

// maxFitChecks is the maximum number of fields in a request. There are usually only a few: the field in which the
// signer is typing, and other fields with the same name.
const maxFitChecks = 20

// checkFit reports which strings do not fit in their fields. The signing page calls it while the signer is typing.
func (s *signingHandler) checkFit(c *gin.Context, l signerLink, o *object) error {
	texts := make(map[uuid.UUID]string)
	for _, f := range o.objects("fields", 1, maxFitChecks) {
		id, text := f.id("fieldId"), f.str("textValue")
		if utf8.RuneCountInString(text) > models.MaxTextValue {
			f.bad("textValue", "must have at most %d characters", models.MaxTextValue)
			continue
		}
		f.checkDrawable("textValue", text)
		texts[id] = text
	}
	if err := o.err(); err != nil {
		return err
	}
	e, err := s.linkedEnvelope(c, l)
	if err != nil {
		return err
	}
	signer, err := e.ConfirmedReader(s.signerContext(c, l), l.Link)
	if err != nil {
		return err
	}
	type misfit struct {
		FieldID uuid.UUID `json:"fieldId"`
		Length  int       `json:"length"`
	}
	out := []misfit{}
	misfits := e.CheckFit(signer, texts, fitText)
	for _, f := range e.Fields {
		if length, ok := misfits[f.ID]; ok {
			out = append(out, misfit{f.ID, length})
		}
	}
	return respond(c, http.StatusOK, gin.H{"misfits": out})
}
