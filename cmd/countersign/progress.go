package main

import (
	"fmt"
	"os"
	"strings"
)

// bar is a progress bar on standard error, where that is a terminal.
type bar struct {
	shown bool
	last  int64 // per cent; -1: nothing yet
}

// show draws how much is done, if that is more than was drawn.
func (b *bar) show(done, all int64) {
	percent := min(done*100/max(all, 1), 100)
	if !b.shown || percent == b.last {
		return
	}
	b.last = percent
	_, _ = fmt.Fprintf(os.Stderr, "\r%-25s %3d %%", strings.Repeat("#", int(percent/4)), percent) // only shown
}

// end begins a new line after what was drawn.
func (b *bar) end() {
	if b.shown && b.last >= 0 {
		_, _ = fmt.Fprintln(os.Stderr)
	}
}
