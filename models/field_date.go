package models

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// isoDate is the layout of minimum and maximum dates. A date field with a minimum or maximum but no format also uses
// this layout.
const isoDate = time.DateOnly

// signedDateFormat is the default pattern of signed_date fields.
const signedDateFormat = "yyyy-MM-dd HH:mm"

// maxDateFormat is the maximum length of a date pattern, in characters.
const maxDateFormat = 40

// dateTokens lists the tokens of a date pattern, with longer ones first.
var dateTokens = []struct {
	token, layout string
	clock         bool // whether the token is part of a time of day
}{
	{"yyyy", "2006", false},
	{"MM", "01", false},
	{"M", "1", false},
	{"dd", "02", false},
	{"d", "2", false},
	{"HH", "15", true},
	{"mm", "04", true},
}

// dateLayout converts a pattern such as dd.MM.yyyy to a layout of package time. It permits HH and mm only if clock is
// set.
func dateLayout(pattern string, clock bool) (string, error) {
	bad := func(format string, args ...any) (string, error) {
		return "", fmt.Errorf("must be a date pattern composed of yyyy, MM or M, dd or d%s, such as dd.MM.yyyy: %s",
			map[bool]string{true: ", HH, mm"}[clock], fmt.Sprintf(format, args...))
	}
	if len([]rune(pattern)) > maxDateFormat {
		return bad("the pattern has more than %d characters", maxDateFormat)
	}
	var layout strings.Builder
	seen := make(map[byte]bool) // first letters of the tokens
	rest := pattern
next:
	for rest != "" {
		for _, t := range dateTokens {
			if after, ok := strings.CutPrefix(rest, t.token); ok && (clock || !t.clock) {
				if seen[t.token[0]] {
					return bad("%s occurs twice", t.token)
				}
				seen[t.token[0]] = true
				layout.WriteString(t.layout)
				rest = after
				continue next
			}
		}
		r := []rune(rest)[0]
		if !strings.ContainsRune(" ./-:,年月日", r) {
			return bad("%q is not supported", r)
		}
		layout.WriteRune(r)
		rest = strings.TrimPrefix(rest, string(r))
	}
	if !seen['y'] || !seen['M'] || !seen['d'] || seen['H'] != seen['m'] {
		return bad("a year, a month and a day are required, and hours require minutes")
	}
	return layout.String(), nil
}

func parseDate(text, layout string) (time.Time, bool) {
	at, err := time.Parse(layout, strings.TrimSpace(text))
	return at, err == nil
}

// dateLayouts lists the date formats that a signing page can send. The text is stored as entered.
var dateLayouts = []string{
	time.DateOnly, time.RFC3339, "2006/01/02", "01/02/2006", "1/2/2006", "02/01/2006", "2/1/2006", "02.01.2006", "2.1.2006",
	"02-01-2006", "January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006", "2006年1月2日",
}

// isoDay converts a date in one of dateLayouts to yyyy-MM-dd. The language determines how ambiguous dates such as
// 03/04/2026 are interpreted. If the date remains ambiguous, or if the text is not a date, isoDay returns the text
// unchanged.
func isoDay(text, language string) string {
	var days []string
	for _, layout := range dateLayouts {
		at, ok := parseDate(text, layout)
		if !ok {
			continue
		}
		monthFirst := strings.HasPrefix(layout, "01/") || strings.HasPrefix(layout, "1/")
		if monthFirst && dayFirst[language] {
			continue
		}
		if day := at.Format(isoDate); !slices.Contains(days, day) {
			days = append(days, day)
		}
	}
	if len(days) == 1 {
		return days[0]
	}
	return text
}

// dayFirst contains the languages in which 03/04/2026 is April 3. English uses both orders.
var dayFirst = map[string]bool{
	"ar": true, "cs": true, "de": true, "es": true, "fr": true, "he": true, "it": true, "nl": true, "pl": true, "pt": true, "tr": true,
}

// dateLayout returns the only permitted layout of a date field's value, or "" if all of dateLayouts are permitted.
func (f *Field) dateLayout() string {
	a := f.Attributes
	if layout, err := dateLayout(a.Format, false); err == nil {
		return layout
	}
	if a.Validation != nil && (a.Validation.Min != "" || a.Validation.Max != "") {
		return isoDate
	}
	return ""
}

// signedDate returns the value of a signed_date field, which is the time in the signer's time zone with its offset from
// UTC.
func (f *Field) signedDate(at time.Time, zone *time.Location) string {
	layout, err := dateLayout(cmp.Or(f.Attributes.Format, signedDateFormat), true)
	if err != nil {
		layout = isoDate
	}
	return at.In(zone).Format(layout + " (UTC-07:00)")
}

// maxTimeZone is the maximum length of a time zone's name, in bytes.
const maxTimeZone = 64

// timeZone returns the time zone with a name such as Europe/Berlin, or UTC if name is nil.
func timeZone(p Problems, path string, name *string) *time.Location {
	text := Deref(name, "")
	if len(text) <= maxTimeZone && text != "Local" {
		if zone, err := time.LoadLocation(text); err == nil { // "" means UTC
			return zone
		}
	}
	p.Add(path, "must be the name of a time zone, such as Europe/Berlin")
	return time.UTC
}
