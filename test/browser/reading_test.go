package browser_test

import (
	"time"

	"github.com/stretchr/testify/require"
)

// nextPage waits up to one second for another page to count as read, and returns the number of unread pages.
const nextPage = `(async () => {
	const left = () => document.querySelector(".left .quiet")?.textContent ?? "";
	const before = left();
	for (let n = 0; n < 20 && left() === before; n++) await new Promise((done) => setTimeout(done, 50));
	return left();
})()`

// reading calls lead, which opens an unread page, until lead returns true. Each page takes 1.5 seconds, or longer on a
// busy machine. The test fails when the number of unread pages no longer decreases.
func (b *tab) reading(left func() string, lead func() bool) {
	b.t.Helper()
	last, deadline := "", time.Now().Add(waitTimeout)
	for !lead() {
		now := left()
		if now != last {
			last, deadline = now, time.Now().Add(waitTimeout)
		}
		if time.Now().After(deadline) {
			b.shot("failure")
			require.FailNow(b.t, "timed out waiting until another page counts as read", "%s; the page shows: %s", last, b.text())
		}
	}
}

// read clicks "Next page" until all pages are read.
func (b *tab) read() {
	b.t.Helper()
	b.reading(func() string { return eval[string](b, nextPage) }, func() bool {
		// Run a single script, because the page may count as read at any time.
		return eval[bool](b, clickNextPage)
	})
}

const clickNextPage = `(() => {
	const next = document.querySelector("#next");
	if (next.textContent === "Next page") next.click();
	return ["Review and sign", "Review and approve", "Confirm as read"].includes(next.textContent);
})()`

// readByKeys presses Enter on "Next page", and on the button that replaces it when all pages are read, until the
// review opens. A page may count as read at any time.
func (b *tab) readByKeys() {
	b.t.Helper()
	b.reading(func() string { return eval[string](b, nextPage) }, func() bool {
		if eval[bool](b, `document.querySelector("dialog[open]") !== null`) {
			return true
		}
		b.keysOn(next, "\r")
		return false
	})
}

// readAll scrolls through all pages, even if there are fields left to fill in.
func (b *tab) readAll() {
	b.t.Helper()
	b.eventually("everything is read", func() bool {
		return eval[bool](b, `(async () => {
			const last = scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
			scrollTo({ top: last ? 0 : scrollY + innerHeight / 3, behavior: "instant" });
			await new Promise((done) => setTimeout(done, 400));
			return document.querySelector(".left .quiet").textContent === "All pages read";
		})()`)
	})
}
