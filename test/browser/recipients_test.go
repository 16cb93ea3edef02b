package browser_test

import (
	"encoding/base64"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"countersign/locales"
)

// handset is the window of a phone, which is narrow and supports touch.
var handset = device{width: 390, height: 844, touch: true}

// TestPagesOfEveryRecipient checks the page of each kind of recipient: approvers can only approve, viewers can only
// read, a host first hands the device over to the signer, and a witness sees whose signature to confirm.
func TestPagesOfEveryRecipient(t *testing.T) {
	t.Parallel()
	const tenant = "quay-branding"
	logo := base64.StdEncoding.EncodeToString(paper(true))
	svc.json(t, http.MethodPut, "/v1/tenants/"+tenant+"/branding", object{
		"logo": logo, "primaryColor": "#7a1f3d", "footer": "Quay Ltd\n14 Quay Street", "supportUrl": "https://quay.example/help", "senderName": "Quay Legal",
	}, nil)
	e := svc.createFor(t, tenant, "Workshop lease", []object{
		{"name": "Ann", "email": "kind-ann@example.com", "authMethod": "none", "kind": "approver"},
		{"name": "Vic", "email": "kind-vic@example.com", "authMethod": "none", "kind": "viewer"},
		{"name": "Ines", "email": "kind-ines@example.com", "authMethod": "none", "kind": "in_person", "host": object{"name": "Hugo", "email": "kind-hugo@example.com"}},
	}, []object{{"signerId": "2", "type": "checkbox", "page": 1, "x": 72, "y": 600, "w": 14, "h": 14}}, leaseDocument())

	for i, kind := range []struct{ asks, review, last, done string }{
		{"Quay Legal requests your approval", "Review and approve", "Approve", "You approved"},
		{"Quay Legal has asked you to read", "Confirm as read", "Confirm as read", "You confirmed that you read the documents"},
	} {
		b := open(t, handset)
		b.visit(e.Signers[i].SigningURL)
		b.see(kind.asks)
		b.see("14 Quay Street")
		b.until(`document.querySelector("img.senderlogo")?.naturalWidth > 0`)
		require.Equal(t, "rgb(122, 31, 61)", eval[string](b, `getComputedStyle(document.querySelector(".card button")).backgroundColor`))
		b.see("Respond electronically")
		b.see("You are asked to answer electronically: to approve documents")
		require.NotContains(t, b.text(), "requests your signature")
		b.checked("recipient-" + kind.last)
		b.button("I agree")
		b.until(`document.querySelectorAll(".textLayer span").length > 10`)
		b.read()
		b.button(kind.review)
		b.see("Review before you sign")
		require.Equal(t, kind.last, eval[string](b, `document.querySelector("#sign").textContent`))
		b.accessible()
		b.click(`document.querySelector("#sign")`)
		b.see(kind.done)
		b.checked("recipient-done-" + kind.last)
		require.Equal(t, "signed", svc.envelope(t, e.ID).Signers[i].Status)
		b.waitUntilStill()
	}

	b := open(t, handset)
	b.visit(e.Signers[2].SigningURL)
	b.see("Hand this device to Ines")
	b.see("Hugo: Quay Legal has asked")
	require.False(t, eval[bool](b, `document.body.innerText.includes("I agree")`))
	b.checked("handover")
	b.keys("\t") // from the heading, which initially has the focus
	b.keysOn(`document.querySelector("#handover")`, "\r")
	b.see("Sign electronically")
	b.accessible()
	b.waitUntilStill()
}

// TestWitnessPage checks that the page names the witnessed signer.
func TestWitnessPage(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Workshop lease", []object{
		{"name": "Sam Signer", "email": "kind-sam@example.com", "authMethod": "none", "role": "tenant"},
		{"name": "Wim", "email": "kind-wim@example.com", "authMethod": "none", "witnessFor": "tenant"},
	}, []object{{"signerId": "0", "type": "checkbox", "page": 1, "x": 72, "y": 600, "w": 14, "h": 14}}, leaseDocument())
	svc.signByAPI(t, e.Signers[0].SigningURL, "")
	b := open(t, handset)
	b.visit(svc.invited(t, "kind-wim@example.com"))
	b.see("You are asked to witness this signature: Sam Signer")
	b.checked("witness")
	b.waitUntilStill()
}

// TestAnsweringInOtherLanguages checks that the disclosure and its heading are worded for approving and for reading.
func TestAnsweringInOtherLanguages(t *testing.T) {
	t.Parallel()
	for language, said := range map[string][2]string{"de": {"Elektronisch antworten", "freizugeben"}, "ar": {"الرد الإلكتروني", "بالموافقة على مستندات"}} {
		e := svc.create(t, "Workshop lease", []object{{"name": "Ann", "email": "answer-" + language + "@example.com", "authMethod": "none", "kind": "approver", "language": language}}, nil, leaseDocument())
		b := open(t, handset)
		b.visit(e.Signers[0].SigningURL)
		b.until(`document.documentElement.lang === "` + language + `"`)
		b.see(said[0])
		b.see(said[1])
		b.see("2026-11-answer-" + language)
		b.accessible()
		b.shot("answering-" + language)
		b.waitUntilStill()
	}
}

// TestHandOverInEveryLanguage checks the page between host and signer on a narrow screen in every language.
func TestHandOverInEveryLanguage(t *testing.T) {
	t.Parallel()
	for _, language := range locales.Tags() {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			e := svc.create(t, "Workshop lease", []object{{
				"name": "Maximiliane Featherstonehaugh", "email": "hand-" + language + "@example.com", "authMethod": "none", "kind": "in_person", "language": language,
				"host": object{"name": "Hugo Host", "email": "host-" + language + "@example.com"},
			}}, []object{{"signerId": "0", "type": "checkbox", "page": 1, "x": 72, "y": 600, "w": 14, "h": 14}}, leaseDocument())
			b := open(t, handset) // the browser uses English, but the sender has selected this language
			b.visit(e.Signers[0].SigningURL)
			b.until(`document.querySelector("#handover") !== null && document.documentElement.lang === "` + language + `"`)
			require.Equal(t, locales.RightToLeft(language), eval[string](b, "document.documentElement.dir") == "rtl")
			b.accessible()
			b.shot("handover-" + language)
			b.waitUntilStill()
		})
	}
}
