package seal

import (
	"cmp"
	"fmt"
	"strings"

	"countersign/seal/verify"
)

// persons tells whose acts the events of a signer are: after each event that tells of a
// successor they are those of the next person. Events are given in their order.
type persons struct {
	names map[string][]string // by signer, in the order in which they were to sign
}

func newPersons(signers []Signer) *persons {
	p := &persons{names: make(map[string][]string)}
	for _, s := range signers {
		for _, was := range s.Previous {
			p.names[s.ID] = append(p.names[s.ID], was.Name)
		}
		p.names[s.ID] = append(p.names[s.ID], s.Name)
	}
	return p
}

// name is the name of an actor "signer:<id>"; "" for any other.
func (p *persons) name(actor string) string {
	id, ok := strings.CutPrefix(actor, "signer:")
	if names := p.names[id]; ok && len(names) > 0 {
		return names[0]
	}
	return ""
}

// succeed goes on to the next person of a signer and returns the name, "" if it is not known.
func (p *persons) succeed(signer string) string {
	names := p.names[signer]
	if len(names) < 2 {
		return ""
	}
	p.names[signer] = names[1:]
	return names[1]
}

// drawPrevious tells who was to sign before s. There may be more than a page of it.
func (c *certificate) drawPrevious(s Signer) {
	for _, was := range s.Previous {
		says := fmt.Sprintf(c.say.PreviousUntil, was.Name, was.Email, verify.Moment(was.Until))
		if was.Reason != "" {
			says += "\n" + fmt.Sprintf(c.say.ReasonGiven, was.Reason)
		}
		for i, l := range c.page().wrap(faceBody, says, c.inner()-signerLabelW, 0) {
			c.room(signerLeading)
			if i == 0 {
				c.page().line(faceLabel, certMargin, c.y, c.say.Previously)
			}
			c.page().show(faceBody, certMargin+signerLabelW, c.y, l)
			c.y += signerLeading
		}
	}
}

// part says which part a signer plays; "" of who signs by themselves.
func (c *certificate) part(s Signer) string {
	switch {
	case s.WitnessFor != "":
		return fmt.Sprintf(c.say.WitnessOf, cmp.Or(c.names["signer:"+s.WitnessFor], s.WitnessFor))
	case s.Host != nil:
		return fmt.Sprintf(c.say.HostedBy, s.Host.Name, s.Host.Email)
	}
	return cmp.Or(c.say.PartKinds[s.Kind], s.Kind)
}
