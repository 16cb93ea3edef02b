package verify

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/json"
	"io"
	"time"

	"countersign/seal/sandbox"
)

// TaskExamine identifies the task of examining a sealed document.
const TaskExamine = 'x'

// These limits apply to a separate process that examines one sealed document.
const (
	examineMemory = 256 << 20
	examineCPU    = 10 * time.Second
	examineSpeed  = 32 << 20 // bytes per additional second of CPU time, for a file larger than maxWhole
	maxWhole      = 64 << 20 // maximum size of a file that is sent completely; only requested parts of a larger file are sent
	maxExamined   = 64 << 20 // maximum size of the result in bytes
)

// ExamineIn runs Examine in a separate process, so that a malicious file can crash only that process. It returns a
// *rejection.Error if the file exceeds the limits.
func ExamineIn(ctx context.Context, pool *sandbox.Pool, r io.ReaderAt, size int64) (*Examination, error) {
	var a examinationAnswer
	task := byte(TaskExamine)
	if size > maxWhole {
		task = sandbox.InParts(task)
	}
	if err := pool.Run(ctx, sandbox.Bounds{Memory: examineMemory, CPU: ExaminationTime(size)}, task, r, size, &a, maxExamined); err != nil {
		return nil, err
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	return &Examination{report: a.Report, trustInput: a.TrustInput, rewritten: a.Rewritten}, nil
}

// ExaminationTime returns the CPU time limit for examining a file of the given size.
func ExaminationTime(size int64) time.Duration {
	if size <= maxWhole {
		return examineCPU
	}
	return examineCPU + time.Duration(size/examineSpeed)*time.Second
}

// examinationAnswer is the serialized form of an Examination. It contains everything needed for a report, but not for
// extending the file.
type examinationAnswer struct {
	sandbox.Answer

	Report     Report         `json:"report"`
	TrustInput trustInput     `json:"judgement"`
	Rewritten  *rewrittenSeal `json:"rewritten,omitempty"`
}

// ExamineTask is the task that ExamineIn runs in the separate process.
func ExamineTask(ctx context.Context, r io.ReaderAt, size int64, _ sandbox.Bounds) any {
	var a examinationAnswer
	x, err := Examine(ctx, r, size)
	if err == nil {
		a.Report, a.TrustInput, a.Rewritten = x.report, x.trustInput, x.rewritten
	}
	a.Set(err)
	return a
}

// certChain is a certificate chain that is serialized in DER.
type certChain []*x509.Certificate

func (c certChain) MarshalJSON() ([]byte, error) { return json.Marshal(derOf(c)) }

func (c *certChain) UnmarshalJSON(b []byte) error {
	var ders [][]byte
	if err := json.Unmarshal(b, &ders); err != nil {
		return err
	}
	for _, der := range ders {
		one, err := x509.ParseCertificate(der)
		if err != nil {
			return err
		}
		*c = append(*c, one)
	}
	return nil
}

func derOf(chain []*x509.Certificate) [][]byte {
	var out [][]byte
	for _, c := range chain {
		out = append(out, c.Raw)
	}
	return out
}

// publicKey is a P-256 key that is serialized as an uncompressed point.
type publicKey struct{ *ecdsa.PublicKey }

func (k publicKey) MarshalJSON() ([]byte, error) {
	point, err := k.Bytes()
	if err != nil {
		return nil, err
	}
	return json.Marshal(point)
}

func (k *publicKey) UnmarshalJSON(b []byte) error {
	var point []byte
	err := json.Unmarshal(b, &point)
	if err == nil {
		k.PublicKey, err = ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	}
	return err
}
