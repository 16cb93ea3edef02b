// Package trust judges whom a verification may believe: who sealed, which
// authorities confirm times, and what is known about revocation. It is given
// parsed certificates, times and statements whose signatures over the document
// hold already; it reads no file and makes no request.
//
// The rules follow ETSI EN 319 102-1 (validation with proofs of existence), RFC
// 5280, RFC 6960 and RFC 3161. A question that cannot be answered is never taken
// for a good answer.
package trust
