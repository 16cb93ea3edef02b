// Package seal turns a PDF and the record of how it was signed into a sealed
// PDF that can be verified for decades: bytes in, bytes out.
//
// A sealed PDF begins with the original's bytes, untouched. Everything else is
// an incremental update (ISO 32000-2, 7.5.6): the values drawn in place, a line
// on each page, the audit certificate, the signed manifest as an attachment,
// and a PAdES signature (ETSI EN 319 142-1) over all of it.
//
// Of Countersign it imports its own subpackages and the texts (locales) alone.
package seal
