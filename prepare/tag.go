package prepare

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Tag is a text tag, which describes a field in the text of a document.
type Tag struct {
	Name        string // "" if there is none
	Type        string // one of FieldTypes
	Role        string // as written; "" if not specified
	Signer      int    // 1 for "r1" or "signer1", and so on; 0 for any other role
	Required    bool
	ReadOnly    bool
	Default     string
	Options     []string
	Format      string
	Label       string
	Placeholder string
	FontSize    float64 // points; 0 means the largest size that fits
	Align       string  // left, center or right; "" if not specified
	Min, Max    string  // limits of a number; "" if not specified
	W, H        float64 // points; 0 means the size of the tag
	Condition   *TagCondition
}

// TagCondition specifies that a field is shown only if another field has a given value.
type TagCondition struct{ Field, Is string }

// FieldTypes returns the field types that a tag can specify.
func FieldTypes() []string {
	return []string{
		"signature", "initial", "date", "text", "checkbox", "name", "email", "company", "title", "signed_date", "number", "select", "radio",
		"attachment", "stamp",
	}
}

// fieldType returns the type for a word, including names used by other programs.
func fieldType(word string) (string, bool) {
	word = strings.ToLower(word)
	switch word {
	case "sig":
		word = "signature"
	case "initials", "init":
		word = "initial"
	case "check":
		word = "checkbox"
	case "dropdown":
		word = "select"
	case "fullname":
		word = "name"
	case "signeddate", "signed-date":
		word = "signed_date"
	}
	return word, slices.Contains(FieldTypes(), word)
}

// expected returns an error about a problem with a tag. TagError adds the tag's text.
func expected(format string, args ...any) error { return fmt.Errorf("expected "+format, args...) }

const (
	maxTag     = 600 // maximum length of a tag, in characters
	maxOptions = 100
	maxSide    = 14_400 // points, the largest page size
	minFont    = 4      // points
	maxFont    = 72
)

//nolint:gochecknoglobals // constant patterns
var (
	validName   = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	validNumber = regexp.MustCompile(`^-?[0-9]{1,15}(\.[0-9]{1,10})?$`)
	signerRole  = regexp.MustCompile(`^(?:r|signer)([1-9][0-9]?)$`)
)

// parseTag parses a tag in one of four formats:
//
//	{{Name;role=Tenant;type=signature;required=true}}
//	{{signature, r1, required=true}}
//	{{*Name_es_:signer1:signature}}
//	[sig|req|signer1|Label|id]
func parseTag(text string) (Tag, error) {
	if len(text) > 4*maxTag {
		return Tag{}, expected("at most %d characters", maxTag)
	}
	if inner, ok := strings.CutPrefix(text, "{{"); ok {
		inner, ok := strings.CutSuffix(inner, "}}")
		if !ok {
			return Tag{}, expected(`"}}" at the end`)
		}
		if strings.ContainsAny(inner, "{}") {
			return Tag{}, expected(`no brace between "{{" and "}}"`)
		}
		switch {
		case strings.Contains(inner, "_es_:"):
			return parseColons(inner)
		case !strings.Contains(inner, ";") && strings.Contains(inner, ","):
			return parsePairs(strings.Split(inner, ","), true)
		}
		return parsePairs(strings.Split(inner, ";"), false)
	}
	inner, ok := strings.CutPrefix(text, "[")
	if !ok {
		return Tag{}, expected(`"{{" or "[" at the start`)
	}
	if inner, ok = strings.CutSuffix(inner, "]"); !ok {
		return Tag{}, expected(`"]" at the end`)
	}
	return parseBars(strings.Split(inner, "|"))
}

func (t *Tag) setName(name string) error {
	if !validName.MatchString(name) {
		return expected("a name of 1 to 64 letters, digits, %q, %q or %q, not %q", "_", ".", "-", name)
	}
	t.Name = name
	return nil
}

func (t *Tag) setRole(role string) error {
	role = strings.TrimSpace(role)
	if role == "" || len([]rune(role)) > 64 {
		return expected("a role of 1 to 64 characters, not %q", role)
	}
	t.Role = role
	if m := signerRole.FindStringSubmatch(strings.ToLower(role)); m != nil {
		t.Signer, _ = strconv.Atoi(m[1])
	}
	return nil
}

func (t *Tag) setType(word string) error {
	var ok bool
	if t.Type, ok = fieldType(strings.TrimSpace(word)); !ok {
		return expected("a type (%s), not %q", strings.Join(FieldTypes(), ", "), word)
	}
	return nil
}

// parsePairs parses a tag that consists of "key=value" pairs after its first part. If the separator is a comma, the
// first part is the type unless a pair specifies it, and a part without "=" is the role.
func parsePairs(parts []string, commas bool) (Tag, error) {
	t := Tag{Type: "text", Required: true}
	seen := make(map[string]bool)
	for i, part := range parts {
		part = strings.TrimSpace(part)
		name, value, isPair := strings.Cut(part, "=")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		var err error
		switch {
		case i == 0 && isPair:
			err = expected("a name or a type first, not %q", part)
		case i == 0:
			err = t.first(part, parts, commas)
		case part == "" && i == len(parts)-1: // "…;}}"
		case !isPair && commas:
			name, err = "role", t.setRole(part)
		case !isPair:
			err = expected("key=value, not %q", part)
		default:
			if name == "value" {
				name = "default"
			}
			err = t.set(name, value)
		}
		if err != nil {
			return Tag{}, err
		}
		if i > 0 && name != "" && seen[name] {
			return Tag{}, expected("%s only once", name)
		}
		seen[name] = true
	}
	return t, t.check()
}

// first parses the first part of a tag. The part is the name if a pair specifies the type. Otherwise it is the type if
// it is a valid one. Any other part is the name, or is rejected if the separator is a comma.
func (t *Tag) first(part string, parts []string, commas bool) error {
	typed := slices.ContainsFunc(parts[1:], func(p string) bool {
		key, _, ok := strings.Cut(p, "=")
		return ok && strings.EqualFold(strings.TrimSpace(key), "type")
	})
	if word, ok := fieldType(part); ok && !typed {
		t.Type = word
		return nil
	}
	if commas && !typed {
		return t.setType(part)
	}
	return t.setName(part)
}

const tagKeys = "type, role, required, readOnly, default, value, options, format, width, height, label, placeholder, " +
	"fontSize, textAlign, minValue, maxValue or condition"

func (t *Tag) set(name, value string) (err error) {
	switch name {
	case "type":
		return t.setType(value)
	case "role":
		return t.setRole(value)
	case "required":
		t.Required, err = boolean(name, value)
	case "readonly":
		t.ReadOnly, err = boolean(name, value)
	case "default":
		t.Default = value
	case "options":
		for option := range strings.SplitSeq(value, ",") {
			if option = strings.TrimSpace(option); option == "" || slices.Contains(t.Options, option) || len(t.Options) == maxOptions {
				return expected("options=A,B with at most %d distinct options, not %q", maxOptions, value)
			}
			t.Options = append(t.Options, option)
		}
	case "format":
		t.Format = value
	case "label":
		t.Label = value
	case "placeholder":
		t.Placeholder = value
	case "fontsize":
		if t.FontSize, err = strconv.ParseFloat(value, 64); err != nil || !(t.FontSize >= minFont && t.FontSize <= maxFont) {
			return expected("fontSize from %d to %d points, not %q", minFont, maxFont, value)
		}
	case "textalign":
		if t.Align = strings.ToLower(value); !slices.Contains([]string{"left", "center", "right"}, t.Align) {
			return expected("textAlign=left, center or right, not %q", value)
		}
	case "minvalue":
		t.Min, err = decimal("minValue", value)
	case "maxvalue":
		t.Max, err = decimal("maxValue", value)
	case "width":
		t.W, err = side(name, value)
	case "height":
		t.H, err = side(name, value)
	case "condition":
		field, is, ok := strings.Cut(value, ":")
		if field = strings.TrimSpace(field); !ok || !validName.MatchString(field) {
			return expected("condition=Name:value, not %q", value)
		}
		t.Condition = &TagCondition{Field: field, Is: strings.TrimSpace(is)}
	default:
		return expected("%s, not %q", tagKeys, name)
	}
	return err
}

func boolean(name, value string) (bool, error) {
	switch strings.ToLower(value) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, expected("%s=true or %s=false, not %q", name, name, value)
}

func side(name, value string) (float64, error) {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || !(n > 0 && n <= maxSide) {
		return 0, expected("%s in points, greater than 0 and at most %d, not %q", name, maxSide, value)
	}
	return n, nil
}

func decimal(name, value string) (string, error) {
	if !validNumber.MatchString(value) {
		return "", expected("%s with a number such as 99 or -1.5, not %q", name, value)
	}
	return value, nil
}

// check checks that the parts are consistent with each other.
func (t *Tag) check() error {
	if (t.Min != "" || t.Max != "") && t.Type != "number" {
		return expected("minValue and maxValue only for number fields, not for a field of type %s", t.Type)
	}
	if t.Type == "select" && len(t.Options) == 0 {
		return expected("options=A,B for a select")
	}
	return nil
}

// parseColons parses "*Name_es_:signer1:signature", where "*" means required and "!" means read-only. Signatures and
// initials are required even without "*".
func parseColons(inner string) (Tag, error) {
	t := Tag{Type: "text"}
	name, rest, _ := strings.Cut(strings.TrimSpace(inner), "_es_:")
	for ; name != "" && strings.ContainsRune("*!", rune(name[0])); name = name[1:] {
		if name[0] == '*' {
			t.Required = true
		} else {
			t.ReadOnly = true
		}
	}
	if err := t.setName(name); err != nil {
		return Tag{}, err
	}
	parts := strings.Split(rest, ":")
	if len(parts) > 2 {
		return Tag{}, expected("Name_es_:role:type, with nothing after %q", parts[1])
	}
	if err := t.setRole(parts[0]); err != nil {
		return Tag{}, err
	}
	if len(parts) == 2 {
		if err := t.setType(parts[1]); err != nil {
			return Tag{}, err
		}
	}
	t.Required = t.Required || t.Type == "signature" || t.Type == "initial"
	return t, t.check()
}

// parseBars parses "sig|req|signer1|Label|id". Label and ID are optional.
func parseBars(parts []string) (Tag, error) {
	if len(parts) < 3 || len(parts) > 5 {
		return Tag{}, expected("[type|req|signer1|Label|id] with 3 to 5 parts, not %d", len(parts))
	}
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	var t Tag
	if err := t.setType(parts[0]); err != nil {
		return Tag{}, err
	}
	switch strings.ToLower(parts[1]) {
	case "req":
		t.Required = true
	case "noreq", "opt":
	default:
		return Tag{}, expected("req or noreq, not %q", parts[1])
	}
	if err := t.setRole(parts[2]); err != nil {
		return Tag{}, err
	}
	if len(parts) > 3 {
		t.Label = parts[3]
	}
	if len(parts) > 4 && parts[4] != "" {
		if err := t.setName(parts[4]); err != nil {
			return Tag{}, err
		}
	}
	return t, t.check()
}
