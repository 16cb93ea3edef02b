package appearance

// Profile specifies everything that determines the appearance of a page. A profile never changes, because any change
// requires a new number.
type Profile struct {
	Number int
	// Module is the SHA-256 hash of PDFium's WebAssembly module, in hexadecimal.
	Module string
	// PDFium and Runtime are the versions of the module's source and its runtime.
	PDFium, Runtime string
	// Fonts is the SHA-256 hash, in hexadecimal, over a line "name hash\n" for each bundled font, sorted by name.
	Fonts string
	// Memory is the memory limit of an instance, in bytes. Rendering a page that requires more memory fails.
	Memory uint64
	// Flags contains the flags for FPDF_RenderPageBitmap and FPDF_FFLDraw.
	Flags int
}

// profiles contains the supported profiles by number.
var profiles = map[int]Profile{
	1: {
		Number: 1, Module: "e6f77e01dce34de05ad62515114152da580b64c23871e3e3e2afef3f7bb88ade",
		PDFium: "github.com/klippa-app/go-pdfium v1.21.4", Runtime: "github.com/tetratelabs/wazero v1.12.0",
		Fonts: "5762fcb6ba973cfd753df73b86796f1c835e35c637c74b9ba7f42cba7e4ece76", Memory: 256 << 20, Flags: renderFlags,
	},
}

// current is the number of the profile for new envelopes.
const current = 1

// Current returns the profile for new envelopes.
func Current() Profile { return profiles[current] }

// Lookup returns the profile with the given number.
func Lookup(number int) (Profile, bool) {
	p, ok := profiles[number]
	return p, ok
}
