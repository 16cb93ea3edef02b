// Package seal creates a sealed PDF from a PDF and its signing record. The sealed PDF can be verified for decades.
//
// A sealed PDF begins with the original's unchanged bytes. Everything else is an incremental update (ISO 32000-2,
// 7.5.6). It contains the values drawn in place, a line on each page, the audit certificate, the signed manifest as an
// attachment, and a PAdES signature (ETSI EN 319 142-1) over the entire file.
//
// Within Countersign, the package imports only its own subpackages and package pdf.
package seal
