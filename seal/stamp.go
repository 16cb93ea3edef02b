package seal

import (
	"fmt"

	"countersign/pdf"
	"countersign/seal/lang"
	"countersign/seal/text"
)

// sealLine creates the form XObject with the line at the foot of each page.
func (t *typesetter) sealLine(job *Job, service string, extra ...pdf.Entry) (form pdf.Ref, width float64, err error) {
	s := fmt.Sprintf(lang.ForTag(job.Language).SealLine, service, job.Envelope.ID, job.OriginalSHA256)
	f := face{text.Sans, sealLineSize, gray}
	measure := t.canvas(0, 0)
	width = measure.width(f, s)
	c := t.canvas(width, sealLineSize*sealLineHeight)
	c.b = append(c.b, "/Artifact<</Type/Pagination/Subtype/Footer>>BDC\n"...)
	c.line(f, 0, sealLineSize*1.15, s)
	c.b = append(c.b, "EMC\n"...)
	form, err = c.form(extra...)
	return form, width, err
}

const (
	sealLineSize   = 5.5
	sealLineHeight = 1.6
	sealLineMargin = 14.0
	sealLineFoot   = 5.0
)
