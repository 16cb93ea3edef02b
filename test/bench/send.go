package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"syscall"
	"time"

	"countersign/clients/go/api"
)

// Parameters of measureSend.
const (
	sendPages  = 20
	sendRounds = 3  // envelopes of each kind, alternating
	sendEach   = 40 // envelopes per round
)

// measureSend compares the CPU time that the API and PostgreSQL use for two kinds of envelopes: those created from a
// template, and those whose document is uploaded. The worker is paused during the measurement, because its work is the
// same in both cases.
func (w *benchEnv) measureSend(ctx context.Context) (err error) {
	file := textPages(sendPages)
	template, err := w.client.template(ctx, file, 2)
	if err != nil {
		return err
	}
	if err := w.worker.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	mails, sent := w.mails.count(), 0
	defer func() {
		err = errors.Join(err, w.worker.Process.Signal(syscall.SIGCONT))
		if err == nil { // the next step must begin with empty queues
			err = w.mails.await(ctx, mails+2*sent)
		}
	}()
	pg, err := w.postmaster(ctx)
	if err != nil {
		return err
	}
	cpu := &usageSampler{families: []processTree{{"api", w.api.Process.Pid}, {"PostgreSQL", pg}}}
	measure := func(n int, do func(context.Context) error) (api, database time.Duration, err error) {
		before, _, err := cpu.sample()
		if err != nil {
			return 0, 0, err
		}
		if err := atOnce(ctx, n, func(ctx context.Context, _ int) error { return do(ctx) }); err != nil {
			return 0, 0, err
		}
		sent += n
		after, _, err := cpu.sample()
		return after["api"] - before["api"], after["PostgreSQL"] - before["PostgreSQL"], err
	}
	ways := []struct {
		name string
		do   func(context.Context) error
		api  time.Duration
		db   time.Duration
	}{
		{name: "create by upload, and send", do: func(ctx context.Context) error { return w.client.sendUpload(ctx, file) }},
		{name: "create from template and send", do: func(ctx context.Context) error { return w.client.sendTemplate(ctx, template) }},
	}
	for round := range sendRounds + 1 {
		for i := range ways {
			way := &ways[i]
			if round == 0 { // warm up caches and connections
				if _, _, err := measure(sendEach/4, way.do); err != nil {
					return err
				}
				continue
			}
			api, db, err := measure(sendEach, way.do)
			if err != nil {
				return err
			}
			way.api, way.db = way.api+api, way.db+db
		}
	}
	const n = sendRounds * sendEach
	for _, way := range ways {
		report("%-39s %s               (API %s, PostgreSQL %s; %d pages, %d KB, %d envelopes)", way.name, ms((way.api+way.db)/n), ms(way.api/n), ms(way.db/n),
			sendPages, len(file)>>10, n)
	}
	report("ratio of CPU time                       %.2f", float64(ways[1].api+ways[1].db)/float64(ways[0].api+ways[0].db))
	return nil
}

// textPages returns a document with the given number of pages of text. It contains nothing that the service has to
// remove.
func textPages(pages int) []byte {
	var kids, table bytes.Buffer
	objects := []string{"<</Type/Catalog/Pages 2 0 R>>", "", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"}
	for i := range pages {
		var text bytes.Buffer
		text.WriteString("BT /F1 9 Tf 50 760 Td 12 TL ")
		for line := range 55 {
			fmt.Fprintf(&text, "(Line %d of page %d: the parties agree that this sentence is as long as one of a lease.) Tj T* ", line, i+1)
		}
		text.WriteString("ET")
		fmt.Fprintf(&kids, "%d 0 R ", len(objects)+1)
		objects = append(objects, fmt.Sprintf("<</Type/Page/Parent 2 0 R/Contents %d 0 R>>", len(objects)+2), fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", text.Len(), &text))
	}
	objects[1] = fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>>>", &kids, pages)
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	for i, o := range objects {
		fmt.Fprintf(&table, "%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, &table, len(objects)+1, start)
	return b.Bytes()
}

// benchRoles returns n signers, or n roles if role is set, and their fields.
func benchRoles(n int, role bool) (people, fields []anyMap) {
	for i := range n {
		name := fmt.Sprintf("role%d", i)
		person := anyMap{"role": name, "authMethod": "none"}
		if !role {
			person["name"], person["email"] = "Signer", fmt.Sprintf("signer%d@example.com", i)
		}
		people = append(people, person)
		for k, kind := range []string{"signature", "text"} {
			fields = append(fields, anyMap{"role": name, "type": kind, "page": 1, "x": 72 + 220*k, "y": 100 + 60*i, "w": 150, "h": 50})
		}
	}
	return people, fields
}

func (c *client) upload(ctx context.Context, path string, data anyMap, file []byte, out any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if err := form.WriteField("data", string(b)); err != nil {
		return err
	}
	part, err := form.CreateFormFile("file", "contract.pdf")
	if err == nil {
		_, err = part.Write(file)
	}
	if err := errors.Join(err, form.Close()); err != nil {
		return err
	}
	return c.do(ctx, "POST", path, form.FormDataContentType(), body.Bytes(), out)
}

func (c *client) template(ctx context.Context, file []byte, signers int) (id string, err error) {
	roles, fields := benchRoles(signers, true)
	var out struct{ ID string }
	err = c.upload(ctx, "/v1/templates", anyMap{"tenantId": "bench", "name": "Bench", "subject": "For {{name}}", "roles": roles, "fields": fields}, file, &out)
	return out.ID, err
}

func (c *client) sendUpload(ctx context.Context, file []byte) error {
	signers, fields := benchRoles(2, false)
	e := &envelope{}
	if err := c.upload(ctx, "/v1/envelopes", anyMap{"tenantId": "bench", "subject": "For Ada", "signers": signers, "fields": fields}, file, e); err != nil {
		return err
	}
	_, err := c.Send(ctx, e.ID, "")
	return err
}

func (c *client) sendTemplate(ctx context.Context, id string) error {
	signers, _ := benchRoles(2, false)
	e := &envelope{}
	err := c.post(ctx, "/v1/envelopes", anyMap{"tenantId": "bench", "templateId": id, "send": true, "variables": anyMap{"name": "Ada"}, "signers": signers}, e)
	if err == nil && e.Status != api.EnvelopeStatusSent {
		err = fmt.Errorf("envelope %s is %s", e.ID, e.Status)
	}
	return err
}
