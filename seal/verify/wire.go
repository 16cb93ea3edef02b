package verify

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"fmt"
	"io"
	"time"

	"countersign/seal/sandbox"
)

// TaskExamine names the task of examining a sealed document.
const TaskExamine = 'x'

// What examining one sealed document may take in a process of its own.
const (
	examineMemory = 256 << 20
	examineCPU    = 10 * time.Second
	examineSpeed  = 32 << 20 // bytes for which there is one more second, of a file larger than maxWhole
	maxWhole      = 64 << 20 // bytes of a file that is sent as a whole; a larger one stays where it is
	maxExamined   = 64 << 20 // bytes of what it found
)

// ExamineIn is Examine, made in a process that the file can end and
// nothing else. A file beyond what it may take is a *refusal.Error.
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
	x := &Examination{report: a.Report}
	var err error
	x.judgement, err = a.Judgement.judgement()
	return x, err
}

// ExaminationTime is how much time of the processors examining a file of that
// size may take.
func ExaminationTime(size int64) time.Duration {
	if size <= maxWhole {
		return examineCPU
	}
	return examineCPU + time.Duration(size/examineSpeed)*time.Second
}

// examinationAnswer is an Examination on its way out of the process: all that
// judging it needs. It cannot be continued.
type examinationAnswer struct {
	sandbox.Answer

	Report    Report        `json:"report"`
	Judgement wireJudgement `json:"judgement"`
}

// ExamineTask is the part of ExamineIn that is done in the process.
func ExamineTask(ctx context.Context, r io.ReaderAt, size int64, _ sandbox.Bounds) any {
	var a examinationAnswer
	x, err := Examine(ctx, r, size)
	if err == nil {
		a.Report = x.report
		a.Judgement, err = toWire(x.judgement)
	}
	a.Set(err)
	return a
}

// wireJudgement is a judgement whose certificates are DER.
type wireJudgement struct {
	Chain    [][]byte       `json:"chain,omitempty"`
	SealedAt time.Time      `json:"sealedAt"`
	KeyID    string         `json:"keyId,omitempty"`
	Key      []byte         `json:"key,omitempty"`
	Stamps   []wireStamp    `json:"stamps,omitempty"`
	Evidence []wireEvidence `json:"evidence,omitempty"`
}

type wireStamp struct {
	Chain    [][]byte  `json:"chain"`
	Time     time.Time `json:"time"`
	Document bool      `json:"document,omitempty"`
	Covers   int64     `json:"covers,omitempty"`
}

type wireEvidence struct {
	Statements []wireStatement `json:"statements,omitempty"`
	Covers     int64           `json:"covers"`
}

type wireStatement struct {
	Certificate []byte `json:"certificate"`
	Issuer      []byte `json:"issuer"`
	OCSP        []byte `json:"ocsp,omitempty"`
	CRL         []byte `json:"crl,omitempty"`
}

func toWire(j trustInput) (wireJudgement, error) {
	w := wireJudgement{Chain: derOf(j.Chain), SealedAt: j.SealedAt, KeyID: j.KeyID}
	if j.Key != nil {
		var err error
		if w.Key, err = j.Key.Bytes(); err != nil {
			return w, err
		}
	}
	for _, s := range j.Stamps {
		w.Stamps = append(w.Stamps, wireStamp{derOf(s.Chain), s.Time, s.Document, s.Covers})
	}
	for _, e := range j.Evidence {
		one := wireEvidence{Covers: e.Covers}
		for _, s := range e.Statements {
			one.Statements = append(one.Statements, wireStatement{s.Certificate.Raw, s.Issuer.Raw, s.OCSP, s.CRL})
		}
		w.Evidence = append(w.Evidence, one)
	}
	return w, nil
}

func derOf(chain []*x509.Certificate) [][]byte {
	var out [][]byte
	for _, c := range chain {
		out = append(out, c.Raw)
	}
	return out
}

func (w wireJudgement) judgement() (trustInput, error) {
	j := trustInput{SealedAt: w.SealedAt, KeyID: w.KeyID}
	var failed error
	parse := func(der ...[]byte) []*x509.Certificate {
		var out []*x509.Certificate
		for _, b := range der {
			c, err := x509.ParseCertificate(b)
			if err != nil {
				failed = fmt.Errorf("seal: answer of the validator: %w", err)
				return nil
			}
			out = append(out, c)
		}
		return out
	}
	j.Chain = parse(w.Chain...)
	if w.Key != nil {
		key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), w.Key)
		if err != nil {
			return j, fmt.Errorf("seal: answer of the validator: %w", err)
		}
		j.Key = key
	}
	for _, s := range w.Stamps {
		j.Stamps = append(j.Stamps, stamp{parse(s.Chain...), s.Time, s.Document, s.Covers})
	}
	for _, e := range w.Evidence {
		one := evidence{Covers: e.Covers}
		for _, s := range e.Statements {
			if c := parse(s.Certificate, s.Issuer); len(c) == 2 {
				one.Statements = append(one.Statements, statement{c[0], c[1], s.OCSP, s.CRL})
			}
		}
		j.Evidence = append(j.Evidence, one)
	}
	return j, failed
}
