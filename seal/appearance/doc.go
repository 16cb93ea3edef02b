// Package appearance defines what a page of a PDF looks like: it renders pages to pixels with one pinned build of PDFium, so
// that anybody can reproduce the same pixels, and their hash, bit for bit.
//
// PDFium runs as WebAssembly, without access to files, clocks, the network or randomness. It sees the document and the
// bundled fonts, nothing else.
package appearance
