package models

import (
	"crypto/sha256"
	"encoding/hex"
)

// ConsentVersion names the edition of ConsentText. A change of the text is a
// new version.
const ConsentVersion = "2026-11"

// ConsentText is what a signer agrees to before signing.
const ConsentText = `You are asked to sign electronically. If you agree, your electronic signature has the same effect as one on paper, and the documents, your signature and the record of this signing (times, IP addresses, browser and how you proved who you are) are kept with the sealed documents.

You do not have to agree. You may ask the sender for the documents on paper and sign them by hand, and you may withdraw your consent at any time before you sign by declining or by telling the sender; what you signed before stays valid. To read and keep the documents you need a current web browser, a program that shows PDF files, and an e-mail address. After everyone has signed you receive a copy; you may ask the sender for another.

The seal that closes the documents is the service's own. It shows that nothing was changed since; it is not a personal certificate of yours.`

// ConsentHash is the SHA-256 of ConsentText, in lowercase hex.
func ConsentHash() string {
	sum := sha256.Sum256([]byte(ConsentText))
	return hex.EncodeToString(sum[:])
}
