package models

import "slices"

// Limits for labels.
const (
	MaxLabels      = 20
	MaxLabelLength = 50 // characters
)

func checkLabels(p Problems, labels []string) {
	if len(labels) > MaxLabels {
		p.Add("labels", "must have at most %d labels", MaxLabels)
		return
	}
	for i, label := range labels {
		CheckText(p, "labels", label, 1, MaxLabelLength)
		if slices.Contains(labels[:i], label) {
			p.addFirst("labels", "contains a label twice")
		}
	}
}

// label replaces the labels of an envelope in any status. It records no event, because labels only help users to find
// envelopes.
func (e *Envelope) label(labels []string) error {
	p := Problems{}
	checkLabels(p, labels)
	if err := p.Err(); err != nil {
		return err
	}
	e.Labels = labels
	return nil
}
