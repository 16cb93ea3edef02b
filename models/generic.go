package models

import "strings"

// Deref returns the value that p points to, or fallback if p is nil.
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

func mapSlice[T, U any](list []T, to func(T) U) []U {
	out := make([]U, 0, len(list))
	for _, v := range list {
		out = append(out, to(v))
	}
	return out
}

// alternatives formats the permitted values of a member as "a, b or c".
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
