package models

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// PlanLimits contains the limits of a plan. EnvelopesPerMonth is zero if the number is unlimited.
type PlanLimits struct {
	Documents         int
	EnvelopesPerMonth int
	Overage           bool
}

// Plans contains the limits of every plan.
type Plans struct{ Free, Pro, Enterprise PlanLimits }

// DefaultPlans returns the default limits of the plans, which the configuration can override.
func DefaultPlans() Plans {
	return Plans{
		Free:       PlanLimits{Documents: 1, EnvelopesPerMonth: 5},
		Pro:        PlanLimits{Documents: MaxDocuments, EnvelopesPerMonth: 100, Overage: true},
		Enterprise: PlanLimits{Documents: MaxDocuments, Overage: true},
	}
}

// Limits returns a plan's limits. For an unknown plan, the limits permit nothing.
func (p Plans) Limits(plan Plan) PlanLimits {
	switch plan {
	case PlanFree:
		return p.Free
	case PlanPro:
		return p.Pro
	case PlanEnterprise:
		return p.Enterprise
	}
	return PlanLimits{}
}

// Valid reports whether p is one of the known plans.
func (p Plan) Valid() bool { return p == PlanFree || p == PlanPro || p == PlanEnterprise }

// UnmarshalText parses limits of the form "documents=1,envelopes=5,overage=no". The limits specify the number of
// documents per envelope, the number of envelopes per month or "unlimited", and whether the number of envelopes may be
// exceeded. All three are required.
func (l *PlanLimits) UnmarshalText(text []byte) error {
	var out PlanLimits
	given := make(map[string]bool)
	for pair := range strings.SplitSeq(string(text), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if given[name] {
			return fmt.Errorf("%s is set twice", name)
		}
		given[name] = true
		n, err := strconv.Atoi(value)
		switch name {
		case "documents":
			if err != nil || n < 1 || n > MaxDocuments {
				return fmt.Errorf("documents must be between 1 and %d", MaxDocuments)
			}
			out.Documents = n
		case "envelopes":
			if value != "unlimited" && (err != nil || n < 1 || n > 1_000_000_000) {
				return errors.New("envelopes must be 1 or more, or unlimited")
			}
			out.EnvelopesPerMonth = n
		case "overage":
			if value != "yes" && value != "no" {
				return errors.New("overage must be yes or no")
			}
			out.Overage = value == "yes"
		default:
			return errors.New("must have the form documents=1,envelopes=5,overage=no")
		}
	}
	if len(given) != 3 {
		return errors.New("must set documents, envelopes and overage, such as documents=1,envelopes=5,overage=no")
	}
	*l = out
	return nil
}

// String formats the limits in the form that UnmarshalText accepts.
func (l PlanLimits) String() string {
	envelopes, overage := "unlimited", "no"
	if l.EnvelopesPerMonth > 0 {
		envelopes = strconv.Itoa(l.EnvelopesPerMonth)
	}
	if l.Overage {
		overage = "yes"
	}
	return fmt.Sprintf("documents=%d,envelopes=%s,overage=%s", l.Documents, envelopes, overage)
}
