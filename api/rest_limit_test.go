package api_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"countersign/api"
	"countersign/notify"
	"countersign/seal/appearance"
	"countersign/temporal"
	"countersign/test/kit"
	"countersign/test/kit/sealkit"
)

// limits contains the remaining time at each call to another service or to the renderer during a request.
type limits struct {
	mu   sync.Mutex
	left map[string][]time.Duration
}

func (l *limits) called(ctx context.Context, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, _ := ctx.Deadline() // without a deadline, the remaining time is negative
	l.left[what] = append(l.left[what], time.Until(at))
}

type limitedWorkflows struct {
	fakeWorkflows
	*limits
}

func (w limitedWorkflows) Progress(ctx context.Context, id uuid.UUID) (temporal.Progress, error) {
	w.called(ctx, "progress")
	return w.fakeWorkflows.Progress(ctx, id)
}

func (w limitedWorkflows) Running(ctx context.Context, _ uuid.UUID) (bool, error) {
	w.called(ctx, "running")
	return false, nil
}

type limitedMailer struct {
	*fakeMailer
	*limits
}

func (m limitedMailer) Send(ctx context.Context, mail notify.Mail) error {
	m.called(ctx, "code")
	return m.fakeMailer.Send(ctx, mail)
}

type limitedRenderer struct {
	kit.Renderer
	*limits
}

func (r limitedRenderer) Page(ctx context.Context, file io.ReaderAt, size int64, page int, level appearance.Level) (*appearance.Encoded, error) {
	r.called(ctx, "page")
	return r.Renderer.Page(ctx, file, size, page, level)
}

func (r limitedRenderer) Lines(ctx context.Context, file io.ReaderAt, size int64, page int) (*appearance.Lines, error) {
	r.called(ctx, "lines")
	return r.Renderer.Lines(ctx, file, size, page)
}

// TestCalls_AreBounded checks the time limits of a request's calls to Temporal, the mail server and the renderer.
func TestCalls_AreBounded(t *testing.T) {
	t.Parallel()
	l := &limits{left: map[string][]time.Duration{}}
	s := onSQLite(t, func(cfg *api.Config) {
		cfg.Workflows, cfg.Renderer = limitedWorkflows{limits: l}, limitedRenderer{limits: l}
		cfg.Mail = limitedMailer{cfg.Mail.(*fakeMailer), l}
	})
	c := s.client(t)
	e, _ := c.sent(twoSigners())
	signed, token := c.sent(contract())
	c.signs(signed, token)
	pageOf := func(e *response) string {
		return "/v1/envelopes/" + e.str("id") + "/documents/" + e.document(0)["id"].(string) + "/pages/1"
	}
	page := pageOf(e)
	original := sealkit.SimplePDF(1)
	for _, step := range []struct {
		what  string
		limit time.Duration
		do    func()
	}{
		{"progress", time.Second, func() { c.get("/v1/envelopes/" + e.str("id") + "/progress").want(200) }},
		{"running", 3 * time.Second, func() {
			finishOutbox(t, s)
			s.clock.advance(time.Hour)
			s.client(t).get("/v1/console/problems").want(200)
		}},
		{"running", 3 * time.Second, func() { s.client(t).post("/v1/console/envelopes/"+e.str("id")+"/restart", nil).want(202) }},
		{"code", 20 * time.Second, func() {
			require.NotEmpty(t, s.browser(t).code(s.link(t, e, 0)))
			s.mails.mu.Lock()
			defer s.mails.mu.Unlock()
			require.Contains(t, s.mails.mails[len(s.mails.mails)-1].Text, "10 minutes", "how long the code is valid")
		}},
		{"page", time.Minute, func() { s.client(t).get(page).want(200) }},
		{"page", time.Minute, func() { s.client(t).get(pageOf(signed) + "?entries=true").want(200) }},
		{"lines", time.Minute, func() { s.client(t).get(page + "/lines").want(200) }},
		{"page", time.Minute, func() {
			drawn, err := kit.Renderer{}.Page(t.Context(), bytes.NewReader(original), int64(len(original)), 1, 1)
			require.NoError(t, err)
			sealed := sealkit.SealedWithPicture(t, original, hex.EncodeToString(drawn.Hash))
			(&client{t: t, s: s}).send(http.MethodPost, "/v1/verify/pages/1?level=1", "application/pdf", sealed).want(200)
		}},
	} {
		l.mu.Lock()
		clear(l.left)
		l.mu.Unlock()
		step.do()
		l.mu.Lock()
		left := l.left[step.what]
		l.mu.Unlock()
		require.NotEmpty(t, left, step.what)
		for _, v := range left {
			require.Greater(t, v, step.limit/2, step.what)
			require.LessOrEqual(t, v, step.limit, step.what)
		}
	}
}
