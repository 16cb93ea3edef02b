// Package api contains the types and calls of the Countersign API, generated from its contract. Package countersign
// adds what every call needs.
package api
