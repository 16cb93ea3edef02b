package models

import "strings"

// Deref is what p points to, or fallback where p is nil.
func Deref[T any](p *T, fallback T) T {
	if p == nil {
		return fallback
	}
	return *p
}

func firstNonNil[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

func nilIfEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// mapSlice has what to makes of each member of a list.
func mapSlice[T, U any](list []T, to func(T) U) []U {
	out := make([]U, 0, len(list))
	for _, v := range list {
		out = append(out, to(v))
	}
	return out
}

// alternatives names what a member may be: "a, b or c".
func alternatives[T ~string](list []T) string {
	var out strings.Builder
	for i, v := range list {
		switch i {
		case 0:
		case len(list) - 1:
			out.WriteString(" or ")
		default:
			out.WriteString(", ")
		}
		out.WriteString(string(v))
	}
	return out.String()
}
