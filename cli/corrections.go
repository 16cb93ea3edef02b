package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	countersign "countersign/clients/go"
	"countersign/clients/go/api"
)

// parsePerson parses a person in one of these forms: "ada@example.com", "Ada Lovelace <ada@example.com>", or, with a
// role, "Client=Ada Lovelace <ada@example.com>".
func parsePerson(flag, text string) (role string, a *mail.Address, err error) {
	who := text
	if before, after, ok := strings.Cut(text, "="); ok && !strings.Contains(before, "<") {
		role, who = strings.TrimSpace(before), after
	}
	a, err = mail.ParseAddress(who)
	if err != nil {
		return "", nil, fmt.Errorf("%s %q: write it as ada@example.com, \"Ada Lovelace <ada@example.com>\", or \"Client=Ada Lovelace <ada@example.com>\" with a role", flag, text)
	}
	a.Name = cmp.Or(a.Name, nameOf(a.Address))
	return role, a, nil
}

// nameOf derives a name from an email address, such as Ada Lovelace from ada.lovelace@example.com.
func nameOf(address string) string {
	local := address[:strings.LastIndexByte(address, '@')]
	words := strings.FieldsFunc(local, func(r rune) bool { return strings.ContainsRune("._-", r) })
	for i, w := range words {
		first, size := utf8.DecodeRuneInString(w)
		words[i] = string(unicode.ToUpper(first)) + w[size:]
	}
	return cmp.Or(strings.Join(words, " "), local)
}

type extendCommand struct {
	remoteEnvelope

	Days  int    `help:"New deadline, in days from now." placeholder:"N" xor:"when" required:""`
	Until string `help:"New deadline, as a time or the last day in UTC, such as 2026-12-31 or 2026-12-31T12:00:00Z." placeholder:"TIME" xor:"when" required:""`
	Never bool   `help:"Remove the deadline." xor:"when" required:""`
}

// Help returns the additional help text of the command.
func (extendCommand) Help() string {
	return "The new deadline may be later or earlier. It also applies to links already emailed."
}

// Run changes the deadline of a sent envelope.
func (x extendCommand) Run(ctx context.Context) error {
	c, _, err := x.client()
	if err != nil {
		return err
	}
	at, err := x.deadline(now())
	if err != nil {
		return err
	}
	body := `{"expiresAt": null}`
	if !at.IsZero() {
		body = fmt.Sprintf(`{"expiresAt": %q}`, at.UTC().Format(time.RFC3339))
	}
	e, err := countersign.Answer(c.API.UpdateDraftWithBodyWithResponse(ctx, x.ID, nil, "application/json", strings.NewReader(body)))
	if err != nil {
		return coded(err)
	}
	deadline := "without a deadline"
	if e.ExpiresAt != nil {
		deadline = "until " + inUTC(*e.ExpiresAt)
	}
	return x.print(e, "%s  %s  %s", e.ID, e.Status, deadline)
}

// deadline returns the deadline specified by the flags, or the zero time for none.
func (x extendCommand) deadline(now time.Time) (time.Time, error) {
	switch {
	case x.Never:
		return time.Time{}, nil
	case x.Until == "" && x.Days <= 0:
		return time.Time{}, errors.New("--days must be at least 1")
	case x.Until == "":
		return now.AddDate(0, 0, x.Days), nil
	}
	if day, err := time.Parse(time.DateOnly, x.Until); err == nil {
		return day.AddDate(0, 0, 1).Add(-time.Second), nil
	}
	at, err := time.Parse(time.RFC3339, x.Until)
	if err != nil {
		return at, fmt.Errorf("--until %q: write it as 2026-12-31 or 2026-12-31T12:00:00Z", x.Until)
	}
	return at, nil
}

type replaceCommand struct {
	remoteEnvelope

	Signer string `arg:"" help:"Id, email address or role of the signer to replace."`
	With   string `help:"New signer, such as \"Grace Hopper <grace@example.com>\"." placeholder:"NAME <ADDRESS>" required:""`
	Phone  string `help:"Phone number of the new signer, for codes by text message." placeholder:"NUMBER"`
	Reason string `help:"Reason, recorded with the envelope."`
}

// Run replaces a signer with another person.
func (r replaceCommand) Run(ctx context.Context) error {
	_, person, err := parsePerson("--with", r.With)
	if err != nil {
		return err
	}
	c, _, err := r.client()
	if err != nil {
		return err
	}
	e, err := c.Envelope(ctx, r.ID)
	if err != nil {
		return coded(err)
	}
	signer, err := findSigner(e, r.Signer)
	if err != nil {
		return err
	}
	body := api.Replacement{Name: person.Name, Email: person.Address, Phone: countersign.Optional(r.Phone), Reason: countersign.Optional(r.Reason)}
	s, err := countersign.Answer(c.API.ReplaceSignerWithResponse(ctx, e.ID, signer, nil, body))
	if err != nil {
		return coded(err)
	}
	return r.print(s, "%s  %s  %s", s.Status, plain(&s.Name), plain(&s.Email))
}

// findSigner returns the signer with the given ID, email address or role.
func findSigner(e *countersign.Envelope, name string) (uuid.UUID, error) {
	var found []uuid.UUID
	for _, s := range e.Signers {
		if s.ID.String() == strings.ToLower(name) || strings.EqualFold(s.Email, name) || s.Role != nil && *s.Role == name {
			found = append(found, s.ID)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return uuid.Nil, codedError{fmt.Errorf("the envelope has no signer %q", name), exitNotFound}
	}
	return uuid.Nil, codedError{fmt.Errorf("multiple signers match %q: specify a signer id", name), exitRejected}
}
