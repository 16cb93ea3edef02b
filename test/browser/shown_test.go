package browser_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// signingPath returns the API path of a signing link.
func signingPath(link string) string {
	return "/v1/signing/" + link[strings.LastIndex(link, "/")+1:]
}

// signByAPI signs for a signer who needs no code, with an image or text for each field.
func (s *service) signByAPI(t *testing.T, link, text string) {
	t.Helper()
	var ctx struct{ Fields []struct{ ID, Type string } }
	_, err := s.do(http.MethodGet, s.base+signingPath(link), "", nil, &ctx)
	require.NoError(t, err)
	if status, err := s.do(http.MethodPost, s.base+signingPath(link)+"/consent", "application/json", strings.NewReader("{}"), nil); status != http.StatusConflict {
		require.NoError(t, err)
	}
	var fields []object
	for _, f := range ctx.Fields {
		switch f.Type {
		case "signature", "initial":
			fields = append(fields, object{"fieldId": f.ID, "signatureImageBase64": base64.StdEncoding.EncodeToString(paper(true))})
		case "checkbox":
			fields = append(fields, object{"fieldId": f.ID, "textValue": "true"})
		default:
			fields = append(fields, object{"fieldId": f.ID, "textValue": text})
		}
	}
	s.signerPosts(t, signingPath(link)+"/sign", object{"fields": fields})
}

// invited waits for an email with a signer's link, and returns the link.
func (s *service) invited(t *testing.T, email string) string {
	t.Helper()
	_, links := s.mail(t, email, "/sign/")
	for _, l := range links {
		if u, err := url.Parse(l); err == nil && strings.HasPrefix(u.Path, "/sign/") {
			return l
		}
	}
	require.FailNow(t, "no signing link", "%v", links)
	return ""
}

// TestEveryGroup_SeesEarlierEntries checks, with three routing groups, that each signer sees all earlier entries with
// the names of their signers, at the positions where they will be sealed.
func TestEveryGroup_SeesEarlierEntries(t *testing.T) {
	t.Parallel()
	const price = "The price is 999,999 euros"
	signers := []object{
		{"name": "Ada Lovelace", "email": "group-1@example.com", "authMethod": "none", "routingOrder": 1},
		{"name": "Grace Hopper", "email": "group-2@example.com", "authMethod": "none", "routingOrder": 2},
		{"name": "Hedy Lamarr", "email": "group-3@example.com", "authMethod": "none", "routingOrder": 3},
	}
	var fields []object
	for i := range signers {
		n := fmt.Sprint(i)
		fields = append(fields,
			object{"signerId": n, "type": "text", "page": 1, "x": 72, "y": 450 + 60*i, "w": 240, "h": 20},
			object{"signerId": n, "type": "signature", "page": 2, "x": 72, "y": 200 + 80*i, "w": 160, "h": 40},
			object{"signerId": n, "type": "checkbox", "page": 2, "x": 300, "y": 210 + 80*i, "w": 14, "h": 14})
	}
	e := svc.create(t, "Three groups", signers, fields, leaseDocument())
	svc.signByAPI(t, e.Signers[0].SigningURL, price)

	b := open(t, phone)
	b.visit(svc.invited(t, "group-2@example.com"))
	b.button("I agree")
	b.until(`document.querySelectorAll(".entered").length === 3 && document.querySelector(".entered img")?.naturalWidth > 0`)
	b.until(fmt.Sprintf(`document.querySelector(".entered .written")?.textContent === %q`, price))
	b.until(`document.querySelector(".entered").getAttribute("aria-label").replaceAll(/[\u2066-\u2069]/g, "") === "Entered by Ada Lovelace: ` + price + `"`)
	b.until(`document.querySelectorAll(".textLayer span").length > 10`)
	// The entry is displayed at its position in the sealed file.
	at := eval[rect](b, `(() => {
		const box = document.querySelector(".entered"), r = box.getBoundingClientRect(), s = box.closest(".sheet").getBoundingClientRect(), k = Number(getComputedStyle(box).getPropertyValue("--k"));
		return { X: (r.x - s.x) / k, Y: (r.y - s.y) / k, W: r.width / k, H: r.height / k };
	})()`)
	require.InDelta(t, 72, at.X, 0.5)
	require.InDelta(t, 450, at.Y, 0.5)
	require.InDelta(t, 240, at.W, 0.5)
	require.InDelta(t, 20, at.H, 0.5)
	b.accessible()
	b.shot("group-2-390")
	b.button("Start")
	b.write(entry, "Only in spring")
	b.button("Next field")
	b.button("Sign here")
	b.button("Use this signature")
	b.button("Check the box")
	b.read()
	b.button("Review and sign")
	b.button("Sign")
	b.see("You signed")
	b.see("Waiting for")
	b.checked("awaited")
	b.waitUntilStill()

	c := open(t, desktop)
	c.visit(svc.invited(t, "group-3@example.com"))
	c.button("I agree")
	c.until(`document.querySelectorAll(".entered").length === 6`)
	c.until(`[...document.querySelectorAll(".entered .whose")].map((w) => w.textContent).join() === "Ada Lovelace,Grace Hopper,Ada Lovelace,Ada Lovelace,Grace Hopper,Grace Hopper"`)
	c.until(`[...document.querySelectorAll(".entered .written")].map((w) => w.textContent).join("|") === "` + price + `|Only in spring"`)
	c.until(`[...document.querySelectorAll(".entered img")].length === 2 && [...document.querySelectorAll(".entered img")].every((i) => i.naturalWidth > 0)`)
	c.checked("group-3")
	eval[bool](c, `(document.querySelectorAll(".sheet")[1].scrollIntoView({ behavior: "instant" }), true)`)
	c.until(`document.querySelectorAll(".sheet")[1].querySelector(".paint img") !== null`)
	c.pictures("group-3-signatures")
	c.waitUntilStill()
	svc.signByAPI(t, svc.invited(t, "group-3@example.com"), "Agreed")
	svc.completed(t, e.ID)
	var shown []string
	for _, a := range svc.envelope(t, e.ID).AuditLog {
		if a.Event == "signer.signed" {
			shown = append(shown, fmt.Sprint(a.Detail["shown"]))
		}
	}
	require.Len(t, shown, 3)
	require.NotEqual(t, shown[0], shown[1], "the second signer was shown more values than the first")
}

// twoSigners returns an envelope with two signers of the same routing group and fields on one page.
func twoSigners(t *testing.T, name string) envelope {
	t.Helper()
	return svc.create(t, "Together", []object{
		{"name": "Ada Lovelace", "email": name + "-a@example.com", "authMethod": "none"}, {"name": "Grace Hopper", "email": name + "-b@example.com", "authMethod": "none"},
	}, []object{
		{"signerId": "0", "type": "text", "page": 1, "x": 72, "y": 450, "w": 200, "h": 20}, {"signerId": "1", "type": "text", "page": 1, "x": 72, "y": 500, "w": 200, "h": 20},
	}, leaseDocument())
}

// TestSignedByAnother_WhileThePageIsOpen checks that, if another signer of the same group signs while the page is open,
// the page reports and displays the new values, and the signer has to read the page again.
func TestSignedByAnother_WhileThePageIsOpen(t *testing.T) {
	t.Parallel()
	e := twoSigners(t, "meanwhile")
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.button("Start")
	b.write(entry, "From Monday")
	b.read()
	svc.signByAPI(t, e.Signers[1].SigningURL, "Not before June")
	b.see("Grace Hopper just added something. Review it before you sign.")
	b.see("1 page left to read")
	b.accessible()
	b.shot("added-390")
	b.button("Review changes")
	b.until(`document.activeElement?.classList.contains("entered")`)
	require.False(t, eval[bool](b, `document.body.innerText.includes("just added")`))
	b.until(`document.querySelector(".entered .written").textContent === "Not before June"`)
	b.read()
	b.button("Review and sign")
	b.button("Sign")
	b.see("You signed")
	b.waitUntilStill()
	svc.completed(t, e.ID)
}

// TestTwoAtOnce checks that, if two signers sign at the same time, the later signer sees the new values and has to
// confirm again.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	e := twoSigners(t, "at-once")
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.button("Start")
	b.write(entry, "From Monday")
	b.read()
	// Block the requests for other signers' values, as if the other signature arrived between two polls.
	eval[bool](b, `(() => { const before = fetch; window.fetch = (input, ...more) => String(input).endsWith("/shown") ? new Promise(() => {}) : before(input, ...more); return true; })()`)
	svc.signByAPI(t, e.Signers[1].SigningURL, "Not before June")
	b.button("Review and sign")
	b.button("Sign")
	b.see("Grace Hopper just added something")
	require.True(t, eval[bool](b, `document.querySelector("#sign").disabled`), "a signer cannot sign values that were not displayed")
	require.Equal(t, "viewed", svc.envelope(t, e.ID).Signers[0].Status)
	b.checked("changed")
	b.button("Review changes")
	b.until(`document.activeElement?.classList.contains("entered")`)
	b.read()
	b.button("Review and sign")
	b.button("Sign")
	b.see("You signed")
	b.waitUntilStill()
	svc.completed(t, e.ID)
	shown := map[string]bool{}
	for _, a := range svc.envelope(t, e.ID).AuditLog {
		if a.Event == "signer.signed" {
			shown[fmt.Sprint(a.Detail["shown"])] = true
		}
	}
	require.Len(t, shown, 2)
}
