// Package seal creates a sealed PDF from a PDF and the record of its signing. The sealed PDF can be verified for
// decades: bytes in, bytes out.
//
// A sealed PDF begins with the original's bytes, unchanged. Everything else is an incremental update (ISO 32000-2,
// 7.5.6): the values drawn in place, a line on each page, the audit certificate, the signed manifest as an attachment,
// and a PAdES signature (ETSI EN 319 142-1) over all of it.
//
// Of Countersign it imports only its own subpackages and the texts (locales).
package seal
