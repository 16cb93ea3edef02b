package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const (
	shownPages    = 5
	pageEnvelopes = 5 // measured after a first one, for which the renderer is started
	finishedLimit = 700 * time.Millisecond
	storedLimit   = 50 * time.Millisecond
)

// measurePages measures the CPU time that the API and its renderers use for a document of five pages of text and two
// signers, who look at each page, and at each finished page with their values. The pages of the original are stored
// when the first signer looks at them.
func (w *benchEnv) measurePages(ctx context.Context) error {
	file := textPages(shownPages)
	var whole, first, again, finished []time.Duration
	for i := range 1 + pageEnvelopes {
		e, err := w.client.sendPages(ctx, file)
		if err != nil {
			return err
		}
		var used [4]time.Duration // pages and finished pages of both signers
		for signer := range 2 {
			if err := w.client.consent(ctx, e, signer); err != nil {
				return err
			}
			if used[2*signer], err = w.cpuOf(func() error { return w.client.viewPages(ctx, e, signer) }); err != nil {
				return err
			}
			if used[2*signer+1], err = w.cpuOf(func() error { return w.client.viewFinishedPages(ctx, e, signer) }); err != nil {
				return err
			}
		}
		if i == 0 {
			continue
		}
		first, again, finished = append(first, used[0]), append(again, used[2]), append(finished, used[1]+used[3])
		whole = append(whole, used[0]+used[1]+used[2]+used[3])
	}
	report("five pages, two signers, CPU            %s (goal: at most %s)", ms(median(whole)), ms(finishedLimit))
	report("  of these: the pages, first signer     %s", ms(median(first)))
	report("            the pages, second signer    %s (goal: at most %s)", ms(median(again)), ms(storedLimit))
	report("            ten finished pages          %s", ms(median(finished)))
	return nil
}

// cpuOf returns the CPU time that the API and its child processes use while do runs. Its resolution is 10 ms.
func (w *benchEnv) cpuOf(do func() error) (time.Duration, error) {
	u := &usageSampler{families: []processTree{{"api", w.api.Process.Pid}}}
	before, _, err := u.sample()
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, _, err := u.sample()
	return after["api"] - before["api"], err
}

// sendPages sends an envelope with two signers, each of whom has a signature and a text field on each page.
func (c *client) sendPages(ctx context.Context, file []byte) (*envelope, error) {
	e := &envelope{}
	var signers, fields []anyMap
	for i := range 2 {
		name := fmt.Sprintf("signer%d", i)
		signers = append(signers, anyMap{"role": name, "name": "Signer", "email": name + "@example.com", "authMethod": "none"})
		for page := range shownPages {
			for k, kind := range []string{"signature", "text"} {
				fields = append(fields, anyMap{"role": name, "type": kind, "page": page + 1, "x": 72 + 220*k, "y": 60 + 60*i, "w": 150, "h": 50})
			}
		}
	}
	if err := c.upload(ctx, "/v1/envelopes", anyMap{"tenantId": "bench", "subject": "Pages", "signers": signers, "fields": fields}, file, e); err != nil {
		return nil, err
	}
	return c.Send(ctx, e.ID, "")
}

// pagesPath is the path of a page of the envelope's only document, for a signer.
func pagesPath(e *envelope, signer, page int) string {
	return "/v1/signing/" + token(e, signer) + "/documents/" + e.Documents[0].ID.String() + "/pages/" + strconv.Itoa(page)
}

func (c *client) viewPages(ctx context.Context, e *envelope, signer int) error {
	for page := range shownPages {
		if err := c.do(ctx, http.MethodGet, pagesPath(e, signer, page+1)+"?level=2", "", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) viewFinishedPages(ctx context.Context, e *envelope, signer int) error {
	for page := range shownPages {
		if err := c.post(ctx, pagesPath(e, signer, page+1)+"/finished?level=2", anyMap{"fields": values(e, signer)}, nil); err != nil {
			return err
		}
	}
	return nil
}
