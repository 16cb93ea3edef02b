package prepare

import (
	"cmp"
	"strconv"
	"strings"
)

const maxName = 64

// FieldNames returns names for form fields that are valid in a request. Invalid characters become "_", and long names
// are truncated. All widgets of a field have the same name. If different fields would have the same name, the later
// ones get the suffixes "_2", "_3" and so on. The suffix that specifies the role ("_es_:signer1", ";role=Tenant") is
// removed.
func FieldNames(fields []FormField) []string {
	names, byRaw, taken := make([]string, len(fields)), make(map[string]string), make(map[string]bool)
	next := make(map[string]int) // number of the next suffix, by the name without its suffix
	for i, f := range fields {
		if name, ok := byRaw[f.Name]; ok {
			names[i] = name
			continue
		}
		raw, _ := splitRole(f.Name)
		base := cleanName(raw)
		name := base
		for n := max(2, next[base]); taken[name]; n++ {
			next[base] = n + 1
			suffix := "_" + strconv.Itoa(n)
			name = base[:min(len(base), maxName-len(suffix))] + suffix
		}
		taken[name], byRaw[f.Name], names[i] = true, name, name
	}
	return names
}

func cleanName(raw string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.', r == '-':
			return r
		}
		return '_'
	}, raw)
	return cmp.Or(name[:min(len(name), maxName)], "field")
}

// Role returns the role at the end of a form field's name, or "" if there is none.
func (f FormField) Role() string {
	_, role := splitRole(f.Name)
	return role
}

func splitRole(name string) (rest, role string) {
	if rest, end, ok := strings.Cut(name, "_es_:"); ok {
		role, _, _ := strings.Cut(end, ":")
		return strings.TrimLeft(rest, "*!"), strings.TrimSpace(role)
	}
	if rest, end, ok := strings.Cut(name, ";"); ok {
		for part := range strings.SplitSeq(end, ";") {
			if key, value, ok := strings.Cut(part, "="); ok && strings.EqualFold(strings.TrimSpace(key), "role") {
				return rest, strings.TrimSpace(value)
			}
		}
	}
	return name, ""
}
