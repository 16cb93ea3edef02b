package browser_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/stretchr/testify/require"
)

// TestSMSCode checks that the code is sent by text message, and that the page masks the phone number.
func TestSMSCode(t *testing.T) {
	t.Parallel()
	const number = "+447400123456"
	e := svc.create(t, "By text message", []object{{"name": "Ada Lovelace", "email": "sms@example.com", "phone": number, "authMethod": "sms_otp"}}, leaseFields()[2:3], leaseDocument())
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.see("We'll text a 6-digit code to")
	b.see("56")
	require.NotContains(t, b.text(), "7400123456")
	b.checked("identify-sms")
	b.button("Send code")
	text, _ := svc.mail(t, number, "code")
	code := regexp.MustCompile(`\b\d{6}\b`).FindString(text)
	require.NotEmpty(t, code)
	b.focused(codeField)
	b.checked("code-sms")
	b.keysOn(codeField, code)
	b.see("Sign electronically")
	b.waitUntilStill()
}

// TestTooManyCodes checks that only five codes can be requested in ten minutes, and that the error for the sixth
// request contains the waiting time.
func TestTooManyCodes(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Too many", []object{{"name": "Ada", "email": "many@example.com"}}, leaseFields()[2:3], leaseDocument())
	at := "/v1/signing/" + e.Signers[0].SigningURL[strings.LastIndex(e.Signers[0].SigningURL, "/")+1:]
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.see("Verify your identity")
	for range 5 {
		svc.signerPosts(t, at+"/otp/request", object{})
	}
	b.button("Send code")
	b.see("Too many codes requested. Try again in")
	b.checked("too-many-codes")
	// When the page is opened again, the last code is still valid, and the page displays the time until another one can
	// be requested.
	b.visit(e.Signers[0].SigningURL)
	b.until(`document.activeElement?.id === "code"`)
	b.see("Send a new code in")
	b.waitUntilStill()
}

// paper returns a photo of a signature, which is a dark line on off-white paper.
func paper(line bool) []byte {
	img := image.NewRGBA(image.Rect(0, 0, 600, 240))
	for y := range 240 {
		for x := range 600 {
			img.Set(x, y, color.RGBA{238, 236, uint8(225 + x%7), 255})
		}
	}
	for i := 0; line && i < 4000; i++ {
		f := float64(i) / 4000
		x, y := 60+480*f, 120-80*math.Sin(f*19)*(1-f/2)
		for d := range 25 {
			img.Set(int(x)+d%5, int(y)+d/5, color.RGBA{30, 40, 90, 255})
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, img) // writing to memory cannot fail
	return b.Bytes()
}

// TestUploadedSignature checks that the paper in a photo of a signature becomes transparent, and that a file that is
// not an image is rejected.
func TestUploadedSignature(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Uploaded", []object{{"name": "Ada Lovelace", "email": "upload@example.com", "authMethod": "none"}}, leaseFields()[1:2], leaseDocument())
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.button("Start")
	b.button("Sign here")
	b.button("Upload")
	b.choose("#picture", "letter.png", []byte("no picture at all"))
	b.see("can't read that file as an image")
	b.choose("#picture", "blank.png", paper(false))
	b.see("The image is empty without its background")
	b.checked("upload-blank")
	b.choose("#picture", "ink.png", paper(true))
	b.until(`document.querySelector("dialog[open] .preview img")?.naturalWidth > 300`)
	b.checked("upload")
	b.button("Use this signature")
	b.see("All fields completed")
	require.InDelta(t, 0.1, eval[float64](b, `(async () => {
		const image = await createImageBitmap(document.querySelector(".field.signature img"));
		const canvas = new OffscreenCanvas(image.width, image.height), pen = canvas.getContext("2d");
		pen.drawImage(image, 0, 0);
		const p = pen.getImageData(0, 0, image.width, image.height).data;
		let ink = 0;
		for (let i = 3; i < p.length; i += 4) if (p[i] > 128) ink++;
		return ink / (p.length / 4);
	})()`), 0.09, "proportion of ink")
	b.read()
	b.button("Review and sign")
	b.checked("upload-review")
	b.button("Sign")
	b.see("You signed")
	b.waitUntilStill()
	svc.completed(t, e.ID)
}

// pinch moves two fingers from one distance to another, in CSS pixels.
func (b *tab) pinch(from, to float64) {
	b.t.Helper()
	fingers := func(distance float64) []*input.TouchPoint {
		one, two := 0.0, 1.0
		return []*input.TouchPoint{{X: 190 - distance/2, Y: 300, ID: &one}, {X: 190 + distance/2, Y: 300, ID: &two}}
	}
	call(b, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: "touchStart", TouchPoints: fingers(from)})
	for i := range 20 {
		call(b, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: "touchMove", TouchPoints: fingers(from + (to-from)*float64(i+1)/20)})
	}
	call(b, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: "touchEnd", TouchPoints: []*input.TouchPoint{}})
}

// TestPinchZoom checks that two fingers enlarge the page, and that it is then rendered more sharply.
func TestPinchZoom(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Pinched", []object{{"name": "Ada", "email": "pinch@example.com", "authMethod": "none"}}, leaseFields(), leaseDocument())
	b := open(t, phone)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.until(`document.querySelectorAll(".textLayer span").length > 10`)
	before := eval[float64](b, `document.querySelector(".sheet .paint img").naturalWidth`)
	b.pinch(60, 240)
	b.until(`visualViewport.scale > 1.5`)
	b.eventually("the page is rendered at a higher resolution", func() bool {
		return eval[float64](b, `document.querySelector(".sheet .paint img").naturalWidth`) > 1.4*before
	})
	b.shot("pinched-390")
	require.InDelta(t, 1, eval[float64](b, `document.querySelector(".sheet").clientWidth / document.querySelector(".sheet .paint img").clientWidth`), 0.01)
	b.pinch(240, 60)
	b.until(`visualViewport.scale < 1.1`)
	b.waitUntilStill()
}

// TestTypedNamesOfAllScripts checks that a typed name is rendered in a font that contains its letters. If the browser
// has no such font, the page reports this instead of rendering boxes.
func TestTypedNamesOfAllScripts(t *testing.T) {
	t.Parallel()
	for name, who := range map[string]struct {
		typed, initials string
		faces           int
	}{
		"latin":      {"Łucja Müller-Novák", "ŁMN", 3},
		"vietnamese": {"Nguyễn Văn Ái", "NVÁ", 2},
		"cyrillic":   {"Ольга Чехова", "ОЧ", 1},
		"japanese":   {"山田 太郎", "山太", 1},
		"arabic":     {"محمد علي", "م. ع.", 1},
		"devanagari": {"कीर्ति शर्मा", "कीश", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := svc.create(t, "Names", []object{{"name": who.typed, "email": name + "@example.com", "authMethod": "none"}}, leaseFields()[:2], leaseDocument())
			b := open(t, desktop)
			b.visit(e.Signers[0].SigningURL)
			b.button("I agree")
			b.button("Start")
			b.button("Initials")
			b.until(`!document.querySelector("dialog[open] form .end button:last-child").disabled`)
			require.Equal(t, who.initials, eval[string](b, `document.querySelector("#typed-name").value`))
			b.button("Use these initials")
			b.button("Sign here")
			b.until(`!document.querySelector("dialog[open] form .end button:last-child").disabled`)
			require.Equal(t, who.faces, eval[int](b, `document.querySelectorAll("dialog[open] .face").length`))
			b.checked("typed-" + name)
			if name == "latin" {
				eval[bool](b, `(() => { const e = document.querySelector("#typed-name"); e.value = "\u{100001}"; return e.dispatchEvent(new Event("input", { bubbles: true })); })()`)
				b.see("This device can't display that name")
				b.until(`document.querySelector("dialog[open] form .end button:last-child").disabled`)
				b.checked("typed-unknown")
				return
			}
			b.button("Use this signature")
			b.see("All fields completed")
			b.read()
			b.shot("typed-" + name + "-page")
			b.button("Review and sign")
			b.button("Sign")
			b.see("You signed")
			b.waitUntilStill()
			svc.completed(t, e.ID)
		})
	}
}

// TestReceipt_WaitsForOtherSigners checks that the receipt of the first signer waits for the other signers and displays
// the outcome.
func TestReceipt_WaitsForOtherSigners(t *testing.T) {
	t.Parallel()
	for outcome, word := range map[string]string{"sign": "Everyone has signed. Your sealed copy is ready.", "decline": "This request is closed"} {
		t.Run(outcome, func(t *testing.T) {
			t.Parallel()
			e := svc.create(t, "Two of us", []object{
				{"name": "Ada Lovelace", "email": outcome + "-first@example.com", "authMethod": "none"}, {"name": "Bob", "email": outcome + "-second@example.com", "authMethod": "none"},
			}, []object{
				{"signerId": "0", "type": "checkbox", "page": 1, "x": 72, "y": 500, "w": 20, "h": 20}, {"signerId": "1", "type": "text", "page": 1, "x": 72, "y": 600, "w": 100, "h": 20},
			}, leaseDocument())
			b := open(t, phone)
			b.visit(e.Signers[0].SigningURL)
			b.button("I agree")
			b.click(`document.querySelector(".field.checkbox")`)
			b.see("All fields completed")
			b.read()
			b.button("Review and sign")
			b.button("Sign")
			b.see("You signed")
			b.see("Your copy appears here when everyone has signed")
			b.checked("receipt-waits-" + outcome)
			second := "/v1/signing/" + e.Signers[1].SigningURL[strings.LastIndex(e.Signers[1].SigningURL, "/")+1:]
			if outcome == "decline" {
				svc.signerPosts(t, second+"/decline", object{})
			} else {
				svc.signs(t, second)
			}
			b.see(word)
			b.checked("receipt-after-" + outcome)
			b.visit(e.Signers[0].SigningURL) // the same tab displays the outcome when the link is opened again
			b.see(word)
			b.waitUntilStill()
		})
	}
}

// TestDigitsOfTheKeyboard checks that codes and numbers can be entered with the native digits of the language, such as
// Arabic digits.
func TestDigitsOfTheKeyboard(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "أرقام", []object{{"name": "Ada Lovelace", "email": "digits@example.com"}},
		[]object{{"signerId": "0", "type": "number", "name": "rent", "label": "rent", "format": "2", "page": 1, "x": 72, "y": 300, "w": 120, "h": 20}}, leaseDocument())
	b := open(t, device{width: 390, height: 844, touch: true, language: "ar"})
	b.visit(e.Signers[0].SigningURL)
	b.click(`document.querySelector(".card button")`)
	text, _ := svc.mail(t, "digits@example.com", "code")
	code := regexp.MustCompile(`\b\d{6}\b`).FindString(text)
	require.NotEmpty(t, code)
	arabic := strings.NewReplacer("0", "٠", "1", "١", "2", "٢", "3", "٣", "4", "٤", "5", "٥", "6", "٦", "7", "٧", "8", "٨", "9", "٩")
	b.keysOn(codeField, arabic.Replace(code))
	b.until(`document.querySelector(".legal") !== null`)
	b.click(`document.querySelector(".card button")`)
	b.click(`document.querySelector("#next")`)
	b.write(entry, "١٬٢٣٤٫٥")
	b.keys("\r")
	b.until(`document.querySelector(".field.number").getAttribute("aria-label").endsWith("1234.5")`)
	b.waitUntilStill()
}

// TestAdoptSignature_WaitsForRendering checks that, while a signature is still being rendered, the previous one cannot
// be adopted.
func TestAdoptSignature_WaitsForRendering(t *testing.T) {
	t.Parallel()
	e := svc.create(t, "Still drawn", []object{{"name": "Ada Lovelace", "email": "still-drawn@example.com", "authMethod": "none"}}, leaseFields()[1:2], leaseDocument())
	b := open(t, desktop)
	b.visit(e.Signers[0].SigningURL)
	b.button("I agree")
	b.button("Start")
	b.button("Sign here")
	const usable = `document.querySelector("dialog[open] form .end button:last-child").disabled === false`
	b.until(usable)
	eval[bool](b, `(() => { const gate = new Promise((open) => { window.drawn = () => { open(); return true; }; });
		const [load, decode] = [document.fonts.load.bind(document.fonts), window.createImageBitmap];
		document.fonts.load = async (...a) => { await gate; return load(...a); };
		window.createImageBitmap = async (...a) => { await gate; return decode(...a); }; return true; })()`)
	b.keysOn(typedName, " King")
	require.False(t, eval[bool](b, usable), "the name must be the same as before")
	b.until(`window.drawn()`)
	b.until(usable)

	b.button("Upload")
	b.choose("#picture", "ink.png", paper(true))
	b.until(usable)
	eval[bool](b, `(() => { const gate = new Promise((open) => { window.drawn = () => { open(); return true; }; });
		const decode = window.createImageBitmap; window.createImageBitmap = async (...a) => { await gate; return decode(...a); }; return true; })()`)
	b.choose("#picture", "other.png", paper(true))
	b.until(`!(` + usable + `)`)
	require.True(t, eval[bool](b, `document.querySelector("dialog[open] .preview") === null`), "the previous image must no longer be shown")
	b.until(`window.drawn()`)
	b.until(usable)
	b.until(`document.querySelector("dialog[open] .preview img")?.naturalWidth > 300`)
	b.waitUntilStill()
}
