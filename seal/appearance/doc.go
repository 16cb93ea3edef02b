// Package appearance defines the appearance of a PDF's pages. It renders pages to pixels with one pinned build of
// PDFium, so that the same pixels, and their hash, can be reproduced exactly.
//
// PDFium runs as WebAssembly, without access to files, clocks, the network or randomness. Its only inputs are the
// document and the bundled fonts.
package appearance
