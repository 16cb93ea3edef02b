package models

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
)

// PageLog is the record of a signer's page views. The first view of a page is an event of the audit trail. Further
// views are counted here, and become one event when the signer signs or declines. Its size is limited by the number of
// pages with a recorded first view.
type PageLog struct {
	// Seen lists the pages with a recorded first view, by document: sorted ranges, both ends included.
	Seen    map[uuid.UUID][][2]int `json:"seen,omitempty"`
	Repeats int                    `json:"repeats,omitempty"` // views that are no events
	DwellMs int64                  `json:"dwellMs,omitempty"` // of these
	LastAt  *time.Time             `json:"lastAt,omitempty"`  // the last of these
	Codes   int                    `json:"codes,omitempty"`   // requested with the present link
	// Delivered are the pages that the service has delivered, by document and by level; of level 0, their texts.
	Delivered map[uuid.UUID]map[int][][2]int `json:"delivered,omitempty"`
	// Finished lists the pages that were delivered with all values; nil: none, or the signer's values have changed
	// since.
	Finished *FinishedPages `json:"finished,omitempty"`
}

// note returns the log with one more first view.
func (l PageLog) note(document uuid.UUID, page int) PageLog {
	l.Seen = maps.Clone(l.Seen) // the store compares the row with the loaded map
	if l.Seen == nil {
		l.Seen = make(map[uuid.UUID][][2]int)
	}
	l.Seen[document] = addPage(l.Seen[document], page)
	return l
}

// addPage returns ranges with one more page.
func addPage(ranges [][2]int, page int) [][2]int {
	ranges = append(slices.Clone(ranges), [2]int{page, page})
	slices.SortFunc(ranges, func(a, b [2]int) int { return a[0] - b[0] })
	joined := ranges[:1]
	for _, r := range ranges[1:] {
		if last := &joined[len(joined)-1]; r[0] <= last[1]+1 {
			last[1] = max(last[1], r[1])
		} else {
			joined = append(joined, r)
		}
	}
	return joined
}

// hasPage reports whether ranges have a page.
func hasPage(ranges [][2]int, page int) bool {
	return slices.ContainsFunc(ranges, func(r [2]int) bool { return r[0] <= page && page <= r[1] })
}

// has reports whether the first view of a page is recorded.
func (l PageLog) has(document uuid.UUID, page int) bool { return hasPage(l.Seen[document], page) }

// count returns how many first views are recorded.
func (l PageLog) count() int {
	n := 0
	for _, ranges := range l.Seen {
		for _, r := range ranges {
			n += r[1] - r[0] + 1
		}
	}
	return n
}

// logsPage reports whether a view is recorded as the first one of its page. It is not if the signer's share of such
// events is used up, or the audit trail is full.
func (e *Envelope) logsPage(s *Signer, document uuid.UUID, page int) bool {
	return !s.Pages.has(document, page) && s.Pages.count() < max(minPageLog, maxPageLog/len(e.Signers)) && e.roomFor(1)
}

// recordRepeats records the page views without separate events as one event.
func (e *Envelope) recordRepeats(act ActionContext, s *Signer) {
	if s.Pages.Repeats == 0 {
		return
	}
	e.record(act, EventPagesViewedAgain, s.ID, Detail{
		"signerId": s.ID.String(), "views": s.Pages.Repeats, "dwellMs": s.Pages.DwellMs, "lastAt": FormatTime(*s.Pages.LastAt),
	})
}
