package api

import (
	"encoding/json"

	"countersign/models"
	"countersign/prepare"
)

// anchor reads the text at which a field stands; nil: it stands at coordinates.
func anchor(o *object) *models.Anchor {
	o = o.sub("anchor")
	if o == nil {
		return nil
	}
	a := models.Anchor{
		Text: o.str("text"), Match: o.textOrNumber("match"), At: o.text("at"), WholeWord: o.flag("wholeWord", false),
		IgnoreCase: o.flag("ignoreCase", false), IfMissing: o.text("ifMissing"),
	}
	if n := o.optInt("page"); n != nil {
		a.Page = *n
		if *n < 1 {
			o.bad("page", "must be 1 or more")
		}
	}
	if o.get("dx") != nil {
		a.DX = o.num("dx")
	}
	if o.get("dy") != nil {
		a.DY = o.num("dy")
	}
	if p, err := prepareAnchor(a); err != nil {
		o.bad("match", "%s", err.Error())
	} else if err := p.Validate(); err != nil && len(o.p) == 0 {
		o.p.Add(o.path[:len(o.path)-1], "%s", err.Error())
	}
	return &a
}

// prepareAnchor is an anchor as package prepare knows it.
func prepareAnchor(a models.Anchor) (prepare.Anchor, error) {
	out := prepare.Anchor{
		Text: a.Text, Page: a.Page, DX: a.DX, DY: a.DY, At: a.At, WholeWord: a.WholeWord, IgnoreCase: a.IgnoreCase, IfMissing: a.IfMissing,
	}
	if a.Match == "" {
		return out, nil
	}
	match := []byte(a.Match)
	switch a.Match {
	case "first", "last", "all":
		var err error
		if match, err = json.Marshal(a.Match); err != nil {
			return out, err
		}
	}
	return out, out.Match.UnmarshalJSON(match)
}
