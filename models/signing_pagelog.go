package models

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
)

// PageLog records a signer's page views. The first view of a page is an event in the audit trail. Further views are
// counted here, and are recorded as a single event when the signer signs or declines. The size of the log is limited by
// the number of pages with a recorded first view.
type PageLog struct {
	// Seen lists the pages with a recorded first view by document, as sorted ranges that include both ends.
	Seen    map[uuid.UUID][][2]int `json:"seen,omitempty"`
	Repeats int                    `json:"repeats,omitempty"` // number of views that are not recorded as events
	DwellMs int64                  `json:"dwellMs,omitempty"` // total duration of these views
	LastAt  *time.Time             `json:"lastAt,omitempty"`  // time of the latest of these views
	Codes   int                    `json:"codes,omitempty"`   // number of codes requested with the current link
	// Delivered lists the pages that the service has delivered, by document and level. Level 0 refers to the text of a
	// page.
	Delivered map[uuid.UUID]map[int][][2]int `json:"delivered,omitempty"`
	// Finished lists the pages that were delivered with all values. It is nil if no such page was delivered, or if the
	// signer's values have since changed.
	Finished *FinishedPages `json:"finished,omitempty"`
}

// note returns a copy of the log with the first view of another page added.
func (l PageLog) note(document uuid.UUID, page int) PageLog {
	l.Seen = maps.Clone(l.Seen) // the store compares the row with the loaded map
	if l.Seen == nil {
		l.Seen = make(map[uuid.UUID][][2]int)
	}
	l.Seen[document] = addPage(l.Seen[document], page)
	return l
}

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

func hasPage(ranges [][2]int, page int) bool {
	return slices.ContainsFunc(ranges, func(r [2]int) bool { return r[0] <= page && page <= r[1] })
}

func (l PageLog) has(document uuid.UUID, page int) bool { return hasPage(l.Seen[document], page) }

func (l PageLog) count() int {
	n := 0
	for _, ranges := range l.Seen {
		for _, r := range ranges {
			n += r[1] - r[0] + 1
		}
	}
	return n
}

// recordsPage reports whether a view is recorded as the first view of its page. That is not the case if the signer has
// used up their share of such events, or if the audit trail is full.
func (e *Envelope) recordsPage(s *Signer, document uuid.UUID, page int) bool {
	return !s.Pages.has(document, page) && s.Pages.count() < max(minPageLog, maxPageLog/len(e.Signers)) && e.hasCapacity(1)
}

// recordRepeats records a single event for all page views that were not recorded individually.
func (e *Envelope) recordRepeats(act ActionContext, s *Signer) {
	if s.Pages.Repeats == 0 {
		return
	}
	e.record(act, EventPagesViewedAgain, s.ID, Detail{
		"signerId": s.ID.String(), "views": s.Pages.Repeats, "dwellMs": s.Pages.DwellMs, "lastAt": FormatTime(*s.Pages.LastAt),
	})
}
