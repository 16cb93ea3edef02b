// Package api holds the types and calls of the Countersign API, generated from
// its contract. Package countersign above it adds what every call needs.
package api
