package forgeries_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"strings"
)

// annotationForgeries returns attacks on certified documents: evil annotation attacks (EAA), sneaky signature attacks
// (SSA), and revoked permissions.
func annotationForgeries() []forgery {
	const class = "certified document"
	evil := func(name, annotation string) forgery {
		return forgery{name: "eaa-" + name, class: class, want: altered, shows: picture(1), make: func(g *genuine) []byte {
			return annotated(g.bytes, annotation, nil)
		}}
	}
	catalog := func(name, key, value string, shows effect) forgery {
		return forgery{name: name, class: class, want: altered, shows: shows, make: func(g *genuine) []byte {
			return update(g.bytes, map[int]string{objCatalog: with(objectOf(g.bytes, objCatalog), key, value)})
		}}
	}
	return []forgery{
		evil("free-text", "/Subtype/FreeText/DA(/Helv 18 Tf)/Contents("+forgedText+")/AP<</N 5001 0 R>>"),
		evil("stamp", "/Subtype/Stamp/Name/Approved/AP<</N 5001 0 R>>"),
		evil("ink", "/Subtype/Ink/InkList[[60 690 300 700]]/C[0 0 0]/BS<</W 20>>/AP<</N 5001 0 R>>"),
		evil("redaction", "/Subtype/Redact/QuadPoints[72 720 500 720 72 690 500 690]/IC[0 0 0]/AP<</N 5001 0 R>>"),
		evil("button", "/Subtype/Widget/FT/Btn/Ff 65536/T(push)/MK<</BG[0 0 0]>>/AP<</N 5001 0 R>>"),
		{
			name: "eaa-link", class: class, want: altered, shows: object("5000", "mallory.example"), make: func(g *genuine) []byte {
				return annotated(g.bytes, "/Subtype/Link/A<</S/URI/URI(https://mallory.example)>>", nil)
			},
		},
		{
			name: "ssa-unsigned-field", class: class, want: altered, shows: picture(1), make: func(g *genuine) []byte {
				return annotated(g.bytes, "/Subtype/Widget/FT/Sig/T(Mallory)/AP<</N 5001 0 R>>", nil)
			},
		},
		{
			name: "ssa-signed-by-another", class: class, want: altered, shows: signatures("Signature #2"), make: func(g *genuine) []byte {
				return signedByAnother(g, "adbe.pkcs7.detached", "/AP<</N 5001 0 R>>")
			},
		},
		{
			name: "ssa-approval-without-picture", class: class, want: altered, shows: signatures("Mallory"), make: func(g *genuine) []byte {
				return signedByAnother(g, "ETSI.CAdES.detached", "")
			},
		},
		{
			name: "eaa-look-of-the-seal", class: class, want: altered, shows: picture(3), make: func(g *genuine) []byte {
				number := g.sealField()
				field := objectOf(g.bytes, number)
				return update(g.bytes, map[int]string{number: with(field, "AP", "<</N 5001 0 R>>"), 5001: appearance("Sealed by Mallory")})
			},
		},
		catalog("mdp-removed", "Perms", "", nothing("programs no longer show that the file is certified")),
		catalog("mdp-loosened", "Perms", "<</DocMDP 5000 0 R>>", nothing("programs permit comments and form entries")),
		catalog("usage-rights-added", "Perms", "<</UR3 5000 0 R>>", nothing("programs permit changes")),
		catalog("form-needs-appearances", "NeedsRendering", "true", object("1", "NeedsRendering")),
		catalog("legal-attestation", "Legal", "<</Attestation("+forgedText+")>>", object("1", forgedText)),
	}
}

// annotated adds an annotation to the first page.
func annotated(b []byte, annotation string, more map[int]string) []byte {
	objects := map[int]string{
		objPage: with(objectOf(b, objPage), "Annots", "[5000 0 R]"),
		5000:    "<</Type/Annot/F 4/Rect[60 690 500 720]/P 4 0 R" + annotation + ">>",
		5001: streamOf("/Type/XObject/Subtype/Form/BBox[0 0 440 30]/Resources<</Font<</F1 3 0 R>>>>",
			"1 g 0 0 440 30 re f 0 g BT /F1 18 Tf 12 10 Td ("+forgedText+") Tj ET"),
	}
	for n, o := range more {
		objects[n] = o
	}
	return update(b, objects)
}

// sealField returns the object number of the seal's signature field.
func (g *genuine) sealField() int {
	return takeApart(g.sealed, len(g.original)).find("/FT /Sig").number
}

// signedByAnother adds a signature with a self-signed certificate, as any program could.
func signedByAnother(g *genuine, subFilter, look string) []byte {
	form := entry(objectOf(g.bytes, objCatalog), "AcroForm")
	fields := strings.Replace(entry(form, "Fields"), "]", " 5000 0 R]", 1)
	objects := map[int]string{objCatalog: with(objectOf(g.bytes, objCatalog), "AcroForm", with(form, "Fields", fields))}
	b := after(g.bytes)
	b.object(objCatalog, 0, objects[objCatalog])
	b.object(objPage, 0, with(objectOf(g.bytes, objPage), "Annots", "[5000 0 R]"))
	b.object(5000, 0, "<</Type/Annot/Subtype/Widget/FT/Sig/T(Mallory)/F 4/Rect[60 690 500 720]/P 4 0 R/V 5002 0 R"+look+">>")
	b.object(5001, 0, appearance(forgedText))
	b.object(5002, 0, fmt.Sprintf("<</Type/Sig/Filter/Adobe.PPKLite/SubFilter/%s\n/ByteRange[0 1 2 3%s]\n/Contents<%s>>>", subFilter, strings.Repeat(" ", 30), strings.Repeat("0", 8000)))
	out := b.finish(g.bytes)
	h := holes(out, len(g.bytes))[0]
	fillRange(out, h, len(out))
	h = holes(out, len(g.bytes))[0]
	digest := h.digest(out)
	s := signature{contentType: oidData, digest: digest[:], signer: selfSigned("Mallory")}
	s.certificates = [][]byte{s.signer.cert.Raw}
	return h.put(out, s.encode())
}

func selfSigned(name string) *identity {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	c := &x509.Certificate{
		SerialNumber: nextSerial(), Subject: pkix.Name{CommonName: name, Organization: []string{name}},
		NotBefore: sealTime.AddDate(-1, 0, 0), NotAfter: sealTime.AddDate(4, 0, 0),
	}
	forSealing(c)
	der := must(x509.CreateCertificate(rand.Reader, c, c, key.Public(), key))
	return &identity{cert: must(x509.ParseCertificate(der)), key: key}
}
