package browser_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// photographed returns a picture of a page in one color.
func photographed(c color.Color) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, 420, 594))
	draw.Draw(img, img.Rect, image.NewUniform(c), image.Point{}, draw.Src)
	return img
}

// redJPEG and bluePNG return photographed pages that can be distinguished by their color.
func redJPEG(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, photographed(color.RGBA{220, 60, 60, 255}), nil))
	return b.Bytes()
}

func bluePNG(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, photographed(color.RGBA{60, 60, 220, 255})))
	return b.Bytes()
}

// showsPages waits until the builder has documents with these names, and their pages have these colors.
func (b *tab) showsPages(names, colors []string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`[...document.querySelectorAll(".bdoc bdi")].map((x) => x.textContent).join() === %q`, strings.Join(names, ",")))
	for i, want := range colors {
		b.until(fmt.Sprintf(`(() => {
			const page = document.querySelectorAll(".bpage")[%d], img = page?.querySelector(".bpaint img");
			page?.scrollIntoView({ block: "center" });
			if (!img?.naturalWidth) return false;
			const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }), at = canvas.getContext("2d");
			at.drawImage(img, img.naturalWidth / 2, img.naturalHeight / 2, 1, 1, 0, 0, 1, 1);
			const [red, , blue] = at.getImageData(0, 0, 1, 1).data;
			return (red > blue + 100 ? "red" : blue > red + 100 ? "blue" : "other") === %q;
		})()`, i, want))
	}
}

// dropsPictures drops a JPEG and a PNG on an element of the page.
func (b *tab) dropsPictures(selector string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(() => {
		const file = (name, type, content) => new File([Uint8Array.from(atob(content), (c) => c.charCodeAt(0))], name, { type }), dropped = new DataTransfer();
		for (const f of [file("1.jpg", "image/jpeg", %q), file("2.png", "image/png", %q)]) dropped.items.add(f);
		return document.querySelector(%q).dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: dropped }));
	})()`, base64.StdEncoding.EncodeToString(redJPEG(b.t)), base64.StdEncoding.EncodeToString(bluePNG(b.t)), selector))
}

// TestPictures_BecomeDocuments adds photographed pages in every place of the console that accepts documents: a new
// envelope, the builder of an envelope, a new template, and the builder of a template. A file of another type is not
// uploaded.
func TestPictures_BecomeDocuments(t *testing.T) {
	t.Parallel()
	b := open(t, desktop)
	consoleUser(b, "pictures", "sender")
	red, blue := redJPEG(t), bluePNG(t)
	photos := func(one, two string) []string { return []string{filed(t, one, red), filed(t, two, blue)} }
	note := filed(t, "note.txt", []byte("hello"))
	const other = "“note.txt” can't be added: it isn't a PDF, PNG or JPEG."

	// A new envelope. The file of another type blocks the form until other files are selected.
	b.button("New envelope")
	b.until(`document.querySelector("#newfiles") !== null`)
	b.checked("pictures-new")
	b.chooseFiles("#newfiles", append(photos("a.jpg", "b.png"), note)...)
	b.until(fmt.Sprintf(`document.querySelector("dialog [role=alert]")?.textContent === %q`, other))
	require.False(t, eval[bool](b, `document.querySelector("dialog form").checkValidity()`))
	b.checked("pictures-other-type")
	b.chooseFiles("#newfiles", photos("Page 1.jpeg", "Page 2.PNG")...)
	b.until(`document.querySelector("dialog [role=alert]") === null`)
	b.see("Page 1.jpeg, Page 2.PNG")
	b.checked("pictures-chosen")
	b.fill("#newname", "Ada Lovelace")
	b.fill("#newemail", "pictures-ada@example.com")
	b.button("Continue")
	b.showsPages([]string{"Page 1.pdf", "Page 2.pdf"}, []string{"red", "blue"})

	// The builder. Undo and redo upload the picture again.
	b.chooseFiles(".badd input", note, photos("c.jpg", "d.png")[0])
	b.until(fmt.Sprintf(`document.querySelector("section[aria-labelledby=bdocuments] [role=alert]")?.textContent === %q`, other))
	b.checked("pictures-builder-other-type")
	b.chooseFiles(".badd input", photos("Annex.jpg", "Plan.png")...)
	all := []string{"Page 1.pdf", "Page 2.pdf", "Annex.pdf", "Plan.pdf"}
	b.showsPages(all, []string{"red", "blue", "red", "blue"})
	b.button("Undo")
	b.showsPages(all[:3], nil)
	b.button("Redo")
	b.showsPages(all, nil)
	b.checked("pictures-builder")
	b.saved()

	// Templates, with files that are dropped.
	b.visit(svc.base + "/console#/templates")
	b.button("New template")
	b.until(`document.querySelector("#newfiles") !== null`)
	b.dropsPictures("label[for=newfiles]")
	b.see("1.jpg, 2.png")
	require.Equal(t, 2, eval[int](b, `document.querySelector("#newfiles").files.length`), "the input displays the dropped files")
	b.fill("#newroles", "Tenant")
	b.button("Continue")
	b.showsPages([]string{"1.pdf", "2.pdf"}, []string{"red", "blue"})
	b.dropsPictures("#bdocuments")
	b.showsPages([]string{"1.pdf", "2.pdf", "1.pdf", "2.pdf"}, []string{"red", "blue", "red", "blue"})
	b.saved()
}
