package sealkit

import (
	"testing"

	"countersign/seal/appearance"
	"countersign/seal/manifest"
)

// SealedWithPicture returns a sealed PDF. The record states that page 1 was displayed to Ada at level 1, and that the
// page's pixels have the given hash.
func SealedWithPicture(t testing.TB, original []byte, hash string) []byte {
	t.Helper()
	p := appearance.Current()
	j := Job(t, original)
	j.Appearance = &manifest.Appearance{
		Profile: manifest.Profile{Number: p.Number, Module: p.Module, PDFium: p.PDFium, Runtime: p.Runtime, Fonts: p.Fonts, Memory: p.Memory, Flags: p.Flags},
		Pages:   []manifest.PagePicture{{Page: 1, Level: 1, SHA256: hash}}, Texts: []manifest.PageText{},
		Signers: []manifest.SignerPages{
			{SignerID: AdaID, Levels: []manifest.LevelPages{{Level: 1, Pages: [][2]int{{1, 1}}}}}, {SignerID: JomoID, Levels: []manifest.LevelPages{}},
		},
	}
	_, sealed := Sealed(t, NewFixture(t).Sealer(t), j)
	return sealed
}
