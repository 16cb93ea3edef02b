package models

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"countersign/seal/limits"
)

// AppearanceProfile is the number of the appearance profile assigned to envelopes when they are sent (see package
// appearance).
const AppearanceProfile = 1

// Appearance is a rendered picture of a page.
type Appearance struct {
	Level int
	Hash  string // hash of the pixels, in lowercase hexadecimal
}

// TextLevel is the level at which the text of a page is stored.
const TextLevel = 0

// DeliveredLevel returns the highest level at which a page was delivered to a signer, or TextLevel if no picture was
// delivered.
func (s *Signer) DeliveredLevel(document uuid.UUID, page int) int {
	highest := TextLevel
	for level, ranges := range s.Pages.Delivered[document] {
		if hasPage(ranges, page) {
			highest = max(highest, level)
		}
	}
	return highest
}

// HasDelivered reports whether the delivery of a page to a signer at a level is recorded.
func (s *Signer) HasDelivered(document uuid.UUID, page, level int) bool {
	return hasPage(s.Pages.Delivered[document][level], page)
}

// RecordDelivery records that a page was delivered to the holder of a link, as a picture at a level or as text. It
// ignores deliveries that exceed the capacity of the record.
func (e *Envelope) RecordDelivery(l Link, now time.Time, document uuid.UUID, page, level int) error {
	s, err := e.Reader(l, now, false)
	if err != nil {
		return err
	}
	if s.HasDelivered(document, page, level) {
		return nil
	}
	levels := maps.Clone(s.Pages.Delivered[document]) // the store compares the row with the loaded map
	if levels == nil {
		levels = make(map[int][][2]int)
	}
	levels[level] = addPage(levels[level], page)
	all := maps.Clone(s.Pages.Delivered)
	if all == nil {
		all = make(map[uuid.UUID]map[int][][2]int)
	}
	all[document] = levels
	before := s.Pages.Delivered
	s.Pages.Delivered = all
	if s.Pages.deliveredRanges() > max(limits.MinRanges, limits.MaxRanges/len(e.Signers)) || e.deliveredCount() > limits.MaxHashes {
		s.Pages.Delivered = before
	}
	return nil
}

func (l PageLog) deliveredRanges() int {
	n := 0
	for _, levels := range l.Delivered {
		for _, ranges := range levels {
			n += len(ranges)
		}
	}
	return n
}

// DeliveredPage is a page at a level. The level TextLevel stands for the text of the page.
type DeliveredPage struct {
	Document    uuid.UUID
	Page, Level int
}

// Delivered returns the pages that were delivered to any signer.
func (e *Envelope) Delivered() map[DeliveredPage]bool {
	out := make(map[DeliveredPage]bool)
	for _, s := range e.Signers {
		for document, levels := range s.Pages.Delivered {
			for level, ranges := range levels {
				for _, r := range ranges {
					for page := r[0]; page <= r[1]; page++ {
						out[DeliveredPage{document, page, level}] = true
					}
				}
			}
		}
	}
	return out
}

// DeliveredLevels returns the levels at which pages of a document were delivered to a signer, in ascending order.
func (s *Signer) DeliveredLevels(document uuid.UUID) []int {
	return slices.Sorted(maps.Keys(s.Pages.Delivered[document]))
}

// deliveredCount returns the number of pages in Delivered, or an upper bound of this number that is at most
// limits.MaxHashes.
func (e *Envelope) deliveredCount() int {
	pages := 0
	for _, d := range e.Originals() {
		pages += d.PageCount
	}
	if most := pages * deliveredLevels; most <= limits.MaxHashes {
		return most
	}
	return len(e.Delivered())
}

// deliveredLevels is the number of levels, including the text.
const deliveredLevels = 4
